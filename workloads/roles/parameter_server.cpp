#include "workloads/roles/parameter_server.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/job/progress.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

const RankAssignment& seat_of(const Job& job, Rank rank) {
  return job.assignments().at(static_cast<std::size_t>(rank));
}

}  // namespace

ParameterServer::ParameterServer(const Job& job, Context& context, Journal& journal, int shard)
    : job_(job),
      context_(context),
      journal_(journal),
      shards_(job.ranks_of(RankAssignment::Role::server)),
      gets_pushes_(job.route() == sync::Route::server),
      holds_model_(job.servers_hold_model()),
      shard_(shard),
      model_(job, context.device(), shard),
      policy_(job.algorithm().make.make_server(job.sync_setting())),
      checkpoints_(job, context),
      states_(job, context.rank()),
      events_(keeps_states(job) ? events_path(job.directory(), seat_of(job, context.rank())) : ""),
      present_(0) {
  for (const Rank worker : job.ranks_of(RankAssignment::Role::worker)) {
    Client& client = clients_.emplace_back();
    client.rank = worker;
    client.pieces.resize(last_piece());
    ++present_;
  }
  inbox_.resize(clients_.size());
  if (job.resume() != nullptr) resume();
}

void ParameterServer::run() {
  for (int worker = 0; worker < static_cast<int>(clients_.size()); ++worker) listen(worker);
  while (present_ > 0) {
    const Completion arrived = context_.wait_any(inbox_);
    const int worker = static_cast<int>(arrived.index);
    if (clients_[arrived.index].push)
      collect_push(worker);
    else
      handle(worker, arrived.note);
  }
  if (!holds_model_) return;
  const std::vector<float> final_model = gather_model();
  if (shard_ == 0) {
    const std::int64_t rounds = pushes_ / static_cast<std::int64_t>(clients_.size());
    checkpoints_.finish(rounds, final_model);
  }
}

/// Expects a whole push.
void ParameterServer::listen(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  for (std::size_t piece = 0; piece < last_piece(); ++piece) {
    const Channel channel = protocol::push_bucket(model_.pieces()[piece].bucket);
    client.pieces[piece] = context_.receive(client.rank, channel, model_.slot(worker, piece));
  }
  listen_for_note(worker);
}

void ParameterServer::listen_for_note(int worker) {
  inbox_[static_cast<std::size_t>(worker)] =
      context_.receive(clients_[static_cast<std::size_t>(worker)].rank, protocol::to_server,
                       model_.slot(worker, last_piece()));
}

void ParameterServer::handle(int worker, const Note& note) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  switch (protocol::kind_of(note)) {
    case protocol::Kind::push:
      client.push = protocol::unpack<protocol::Push>(note);
      collect_push(worker);
      break;
    case protocol::Kind::report: {
      const auto report = protocol::unpack<protocol::Report>(note);
      const sync::Report event{now_of_policy(), worker, version_of_policy(report.version), report.local_steps,
                               report.duration};
      client.reported_version = report.version;
      ++client.unanswered;
      policy_->on_report(event, decisions_);
      listen_for_note(worker);
      execute(told(event));
      break;
    }
    case protocol::Kind::leave: {
      context_.wait_all(client.pieces);
      finish_reply(client);
      if (!client.answer.empty()) context_.wait(client.answer);
      --present_;
      const sync::Left event{now_of_policy(), worker};
      policy_->on_left(event, decisions_);
      execute(told(event));
      break;
    }
    default:
      TANDEM_CHECK(false, "note of kind", protocol::name_of(protocol::kind_of(note)), "from worker", worker);
  }
}

/// The note may overtake pieces that came by a slow exchange; other workers must not wait for these.
void ParameterServer::collect_push(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  for (Pending& piece : client.pieces) {
    if (piece.empty()) continue;
    inbox_[static_cast<std::size_t>(worker)] = std::move(piece);
    return;
  }
  on_push(worker, *std::exchange(client.push, std::nullopt));
}

void ParameterServer::on_push(int worker, const protocol::Push& push) {
  // A worker pushes only after it has its reply, so this does not block.
  Client& client = clients_[static_cast<std::size_t>(worker)];
  finish_reply(client);
  client.samples = push.samples;
  client.version = push.version;
  client.waits = true;
  client.dropped = false;
  ++client.pushes;
  client.all_samples += push.samples;
  client.steps += push.local_steps;
  model_.note_push(worker, push.version);
  ++pushes_;
  samples_ += push.samples;
  const std::int64_t rounds = pushes_ / static_cast<std::int64_t>(clients_.size());
  const Progress progress{.rounds = rounds, .samples = samples_, .now = now()};
  const double done = fraction_done(job_.experiment().stop, job_.dataset_info().train_samples, progress);
  stopping_ = stopping_ || done >= 1.0;
  const sync::Push event{.now = now_of_policy(),
                         .worker = worker,
                         .version = version_of_policy(push.version),
                         .samples = push.samples,
                         .local_steps = push.local_steps,
                         .duration = push.duration,
                         .loss = push.loss,
                         .done = done,
                         .rate = job_.optimizer_setting().schedule.factor({rounds})};
  policy_->on_push(event, decisions_);
  execute(told(event));
  checkpoint_if_due();
  job_.report_progress(progress);
}

void ParameterServer::execute(const std::string& event) {
  if (journal_.keep_decisions)
    journal_.decisions.push_back({context_.rank(), "server", event, sync::to_text(decisions_)});
  for (const auto& decision : decisions_) {
    if (const auto* from = std::get_if<sync::Accept>(&decision)) accept(*from);
    if (const auto* update = std::get_if<sync::Apply>(&decision)) apply(update->scale);
    if (const auto* to = std::get_if<sync::Reply>(&decision)) reply(*to);
    if (const auto* to = std::get_if<sync::AnswerReport>(&decision)) answer(*to);
    if (const auto* late = std::get_if<sync::Discard>(&decision)) discard(*late);
  }
  decisions_.clear();
}

void ParameterServer::accept(const sync::Accept& decision) {
  model_.accept(decision.worker, decision.weight);
  const Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  accepted_.push_back({client.rank, client.version, client.samples});
}

/// Of the last push: as many rounds had ended before it.
std::int64_t ParameterServer::round() const {
  return std::max<std::int64_t>(0, pushes_ - 1) / static_cast<std::int64_t>(clients_.size());
}

void ParameterServer::fold() {
  if (model_.accepted() == 0) return;
  const Bytes size = model_.bytes() * model_.accepted();
  if (model_.is_compressed()) {
    Pending values = context_.compute({.kind = Work::Kind::decompress, .bytes = size}, model_.decompress());
    context_.wait(values);
  }
  Pending sum = context_.compute({.kind = Work::Kind::reduce, .bytes = size}, model_.fold());
  context_.wait(sum);
}

void ParameterServer::apply(double scale) {
  fold();
  const auto kind = model_.only_averages() ? Work::Kind::reduce : Work::Kind::update;
  Pending update = context_.compute({.kind = kind, .bytes = model_.bytes()}, model_.apply(scale, round()));
  context_.wait(update);
  // Shards count their own updates; the first one speaks for all, as in everything that is told of a push.
  if (shard_ == 0 && gets_pushes_)
    for (const Accepted& push : accepted_)
      journal_.note_applied(push.rank, version_ - push.version, push.samples);
  accepted_.clear();
  ++version_;
}

/// The push stays in its slot until the next one overwrites it.
void ParameterServer::discard(const sync::Discard& decision) {
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  client.dropped = true;
  if (shard_ == 0) journal_.dropped_samples += client.samples;
}

void ParameterServer::reply(const sync::Reply& decision) {
  // The worker's next push will overwrite its slot.
  if (model_.has_accepted(decision.worker)) fold();
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  listen(decision.worker);
  client.replied_model = model_.hand_out(decision.worker);
  client.replied_version = version_;
  client.waits = false;
  if (decision.batch > 0) client.batch = decision.batch;
  if (decision.local_steps > 0) client.local_steps = decision.local_steps;
  const Note note = protocol::pack(protocol::Reply{.version = version_,
                                                   .batch = decision.batch,
                                                   .local_steps = decision.local_steps,
                                                   .stops = stopping_ && shard_ == 0,
                                                   .dropped = client.dropped,
                                                   .all_samples = samples_});
  // In the order in which the next forward needs them.
  for (std::size_t piece = model_.pieces().size(); piece-- > 0;) {
    const Channel channel =
        piece == last_piece() ? protocol::from_server : protocol::reply_bucket(model_.pieces()[piece].bucket);
    client.reply.push_back(
        context_.send(client.rank, channel, model_.slice(client.replied_model, piece), note));
  }
}

void ParameterServer::answer(const sync::AnswerReport& decision) {
  // The worker expects each answer before it asks again, so the wait for the previous one does not block.
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  if (!client.answer.empty()) context_.wait(client.answer);
  --client.unanswered;
  client.answer = context_.send(
      client.rank, protocol::answers, {},
      protocol::pack(protocol::Answer{.version = client.reported_version, .ready = decision.ready}));
}

void ParameterServer::finish_reply(Client& client) {
  context_.wait_all(client.reply);
  client.reply.clear();
  client.replied_model.reset();
}

void ParameterServer::checkpoint_if_due() {
  const auto workers = static_cast<std::int64_t>(clients_.size());
  if (pushes_ % workers != 0) return;
  const std::int64_t round = pushes_ / workers;
  if (states_.is_due(round)) save_state(round);
  if (!holds_model_ || !checkpoints_.is_due(round)) return;
  const std::vector<float> whole = gather_model();
  checkpoints_.save(round, samples_, whole);
}

/// Of an event, for those who want to know it now or when the job goes on.
std::string ParameterServer::told(const sync::ServerEvent& event) {
  if (!journal_.keep_decisions && !events_.keeps()) return "";
  std::string text = sync::to_text(event);
  events_.add(text);
  return text;
}

/// What it knows beside the model between two pushes, but for its policy.
void ParameterServer::serialise(StateArchive& state) {
  state.number("pushes", pushes_);
  state.number("samples", samples_);
  state.number("version", version_);
  double elapsed = now().count();
  state.number("elapsed_s", elapsed);
  if (state.restores()) before_ = Seconds(elapsed);
  state.number("policy_version", policy_version_);
  double policy_began_s = policy_began_.count();
  state.number("policy_began_s", policy_began_s);
  policy_began_ = Seconds(policy_began_s);
  for (std::size_t worker = 0; worker < clients_.size(); ++worker) {
    Client& client = clients_[worker];
    const std::string of_worker = "worker." + std::to_string(worker) + '.';
    state.number(of_worker + "pushes", client.pushes);
    state.number(of_worker + "samples", client.all_samples);
    state.number(of_worker + "steps", client.steps);
    state.number(of_worker + "batch", client.batch);
    state.number(of_worker + "local_steps", client.local_steps);
  }
  model_.serialise(state);
}

void ParameterServer::save_state(std::int64_t round) {
  SavedState state;
  serialise(state);
  model_.serialise_sum(state);
  // A policy that has seen workers leave would not answer them when the job goes on with all.
  const bool answered =
      present_ == static_cast<int>(clients_.size()) &&
      std::ranges::none_of(clients_, [](const Client& c) { return c.waits || c.unanswered > 0; });
  const bool current = answered && std::ranges::all_of(clients_, [this](const Client& c) {
                         return c.replied_version == version_;
                       });
  state.set("all_answered", answered ? 1 : 0);
  state.set("all_current", current ? 1 : 0);
  state.set("events_bytes", events_.flush());
  states_.save(round, state);
}

void ParameterServer::resume() {
  SavedState state = state_of_server(job_, shard_);
  serialise(state);
  for (Client& client : clients_) client.replied_version = version_;
  const ResumePoint& from = *job_.resume();
  if (!from.policies_remember) {
    policy_version_ = version_;
    policy_began_ = before_;
    return;
  }
  model_.serialise_sum(state);
  const std::string path = events_path(from.directory, seat_of(job_, context_.rank()));
  for (const auto& event : events_.take_over(path, state.integer("events_bytes"))) replay_event(event);
}

/// Whoever replays this run needs the events before it as well.
void ParameterServer::replay_event(const std::string& event) {
  const auto decisions = sync::decide(*policy_, sync::parse_server_event(event));
  if (journal_.keep_decisions)
    journal_.decisions.push_back({context_.rank(), "server", event, sync::to_text(decisions)});
}

/// The first shard collects the parts of all; the others send theirs and get an empty vector. Sizes travel
/// also when math is modelled.
std::vector<float> ParameterServer::gather_model() {
  const auto snapshot = model_.snapshot();
  if (shard_ > 0) {
    float* data = snapshot ? snapshot->data() : nullptr;
    Pending part = context_.send(shards_.front(), protocol::checkpoint_parts,
                                 {model_.bytes(), reinterpret_cast<std::byte*>(data)});
    context_.wait(part);
    return {};
  }
  std::vector<float> whole = model_.initial();
  whole.resize(snapshot ? static_cast<std::size_t>(job_.model().elements()) : 0);
  std::vector<float> received;
  if (snapshot) {
    received.resize(snapshot->size());
    copy_and_await(context_.device(), received.data(), snapshot->data(), snapshot->bytes());
  }
  for (int shard = 0; shard < static_cast<int>(shards_.size()); ++shard) {
    const ShardPieces& pieces = job_.shard_layout()[static_cast<std::size_t>(shard)];
    if (shard > 0) {
      received.resize(snapshot ? static_cast<std::size_t>(shard_elements(pieces)) : 0);
      std::byte* target = snapshot ? reinterpret_cast<std::byte*>(received.data()) : nullptr;
      Pending arriving =
          context_.receive(shards_[static_cast<std::size_t>(shard)], protocol::checkpoint_parts,
                           {Bytes(shard_elements(pieces) * 4), target});
      context_.wait(arriving);
    }
    if (!snapshot) continue;
    for (const ShardPiece& piece : pieces)
      std::copy_n(received.begin() + piece.shard_offset, piece.elements, whole.begin() + piece.flat_offset);
  }
  return whole;
}

}  // namespace tandem
