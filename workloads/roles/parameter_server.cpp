#include "workloads/roles/parameter_server.hpp"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/ramp_state.hpp"
#include "workloads/job/plan/progress.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

/// A coordinator gets notes alone.
std::vector<ShardKey> keys_of_pushes(const ExchangePlan& plan, const ServerModel& model) {
  return keys_of(model.pieces(), plan.exchanges_by_key());
}

}  // namespace

ParameterServer::ParameterServer(const Job& job, Context& context, Journal& journal, int shard)
    : plan_(job.exchange()),
      stop_(job.stop()),
      assignment_(job.roster().assignment(context.rank())),
      context_(context),
      journal_(journal),
      servers_(job.roster().servers()),
      model_elements_(job.model().elements()),
      writer_(job.checkpoints().writer),
      gets_pushes_(plan_.route() == sync::Route::server),
      holds_model_(plan_.servers_hold_model()),
      is_alone_(job.roster().deciders().size() == 1),
      is_coordinator_(context.rank() == job.roster().coordinator()),
      requests_pulls_(plan_.requests_pulls()),
      steward_(job.roster().steward()),
      counts_updates_(steward_ && plan_.algorithm().make.membership.rounds_are_updates),
      answer_time_(job.devices().answer_time(context.rank())),
      model_(job.replica_plan(), plan_, context.device(), shard,
             job.devices().kind_of(context.rank()) != DevicePlan::processor_kind),
      keys_(keys_of_pushes(plan_, model_)),
      policy_(plan_.algorithm().make.make_server(plan_.sync_setting())),
      checkpoints_(job, context),
      accuracy_stop_(job, context),
      states_(job, context.rank()),
      records_(job, context.rank(), journal),
      commits_(job, context, journal),
      events_(job.real_math() && job.checkpoints().keeps_states()
                  ? events_path(job.spec().directory, assignment_)
                  : ""),
      recovery_(job.spec().experiment.recovery),
      // Workers that update themselves scale their updates.
      rate_factor_(plan_.servers_send_means() ? 1.0 : rate_factor_of(job)),
      ramp_(job.replica_plan().rate_ramp),
      present_(0),
      first_workers_(job.roster().first_workers().size()),
      knows_samples_(job.data().knows_samples()),
      pushes_(static_cast<int>(job.roster().workers().size())) {
  for (const Rank worker : job.roster().workers()) {
    Client& client = clients_.emplace_back();
    client.rank = worker;
    client.has_place = clients_.size() <= first_workers_;
    client.loads_ahead = job.loads_ahead(worker);
    client.pieces.resize(model_.pieces().size());
    ++present_;
  }
  members_ = present_;
  if (job.data().from_storage()) prefetch_ = job.data().prefetch();
  if (steward_ && gets_pushes_ && is_coordinator_)
    deals_.emplace(workers(), first_workers_, job.data().deals_before(),
                   sampling::MemberDeals::Rules{.knows_samples = knows_samples_,
                                                .deals_again = job.data().deals_again()});
  inbox_.resize((requests_pulls_ ? 2 : 1) * workers() + (steward_ ? 1 : 0));
  while (key_policies_.size() + 1 < keys_.size())
    key_policies_.push_back(plan_.algorithm().make.make_server(plan_.sync_setting()));
  if (gets_pushes_ && job.devices().server_cost(context.rank()) != nullptr)
    for (const ShardKey& key : keys_) costs_.push_back(cost_of(key, job.model()));
  if (job.resume() != nullptr) resume(job);
}

void ParameterServer::run() {
  stopping_ = accuracy_stop_.is_reached_at_restart();
  commits_.start(pushes_.rounds());
  leave_spares_out();
  for (int worker = 0; worker < static_cast<int>(clients_.size()); ++worker)
    if (clients_[static_cast<std::size_t>(worker)].is_present()) listen(worker);
  if (steward_) inbox_[steward_entry()] = protocol::receive<"membership">(context_, *steward_);
  while (!is_over()) {
    if (is_paused_) {
      hear_steward(context_.wait(inbox_[steward_entry()]).note);
      continue;
    }
    const Completion arrived = context_.wait_any(inbox_);
    if (steward_ && arrived.index == steward_entry()) {
      hear_steward(arrived.note);
      continue;
    }
    const int worker = static_cast<int>(arrived.index % workers());
    if (clients_[static_cast<std::size_t>(worker)].is_joining)
      advance_join(worker, arrived);
    else if (arrived.index >= workers())
      on_pull(worker);
    else if (clients_[arrived.index].push)
      collect_push(worker);
    else
      handle(worker, arrived.note);
  }
  commits_.finish();
  if (steward_) {
    for (Client& client : clients_) context_.wait_all(client.draining);
    tell_steward_end();
    if (is_coordinator_) record_end();
  }
  if (!holds_model_) return;
  const std::vector<float> final_model = gather_model();
  if (context_.rank() == writer_) checkpoints_.finish(pushes_.rounds(), final_model);
}

/// Expects a push of the worker's next key.
void ParameterServer::listen(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  for (std::size_t piece = keys_[client.key].first; piece < keys_[client.key].last; ++piece) {
    client.pieces[piece] = protocol::receive<"push-pieces">(context_, client.rank, model_.slot(worker, piece),
                                                            model_.pieces()[piece].bucket);
  }
  listen_for_note(worker);
}

void ParameterServer::listen_for_note(int worker) {
  const Client& client = clients_[static_cast<std::size_t>(worker)];
  const std::size_t piece = keys_[client.key].last;
  const bool is_last = client.key + 1 == keys_.size();
  inbox_[static_cast<std::size_t>(worker)] =
      protocol::receive<"pushes">(context_, client.rank, model_.slot(worker, piece),
                                  is_last ? Channel::no_bucket : model_.pieces()[piece].bucket);
}

void ParameterServer::handle(int worker, const Note& note) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  if ((client.push = protocol::as<protocol::Push>(note))) return collect_push(worker);
  if (const auto report = protocol::as<protocol::Report>(note)) {
    key_ = keys_.size() - 1;
    client.reported_version = report->version;
    ++client.unanswered;
    listen_for_note(worker);
    return decide(sync::Report{now_of_policy(), worker, version_of_policy(report->version),
                               report->local_steps, report->duration});
  }
  protocol::unpack<protocol::Leave>(note);
  context_.wait_all(client.pieces);
  finish_reply(client);
  if (!client.answer.empty()) context_.wait(client.answer);
  leave(worker);
}

/// The note may overtake pieces of the push that are still in flight; other workers must not wait for these.
void ParameterServer::collect_push(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  for (Pending& piece : client.pieces) {
    if (piece.empty()) continue;
    inbox_[static_cast<std::size_t>(worker)] = std::move(piece);
    return;
  }
  const auto push = *std::exchange(client.push, std::nullopt);
  // A worker pushes only after it has its reply, so this does not block.
  finish_reply(client);
  begin_answer(client);
  // The keys of a push have one number.
  if (key_ == 0) model_.note_push(worker, push.version);
  if (is_last_key())
    on_push(worker, push);
  else
    on_key(worker, push);
}

/// The push of a key is complete.
void ParameterServer::begin_answer(Client& client) {
  key_ = client.key;
  client.outgoing = {.key = keys_[key_]};
  client.key = (key_ + 1) % keys_.size();
  if (requests_pulls_)
    listen_for_pull(static_cast<int>(&client - clients_.data()));
  else
    client.outgoing.asked = client.outgoing.size();
}

/// Each key has its own round, with the decisions of a whole push. Only the last key counts as one.
void ParameterServer::on_key(int worker, const protocol::Push& push) {
  if (!costs_.empty()) do_stated_work(Work::Kind::push, costs_[key_].push);
  decisions_ = sync::decide(*key_policies_[key_], event_of(worker, push));
  carry_out();
}

/// As the policy sees it.
sync::Push ParameterServer::event_of(int worker, const protocol::Push& push) const {
  return {.now = now_of_policy(),
          .worker = worker,
          .version = version_of_policy(push.version),
          .samples = push.samples,
          .local_steps = push.local_steps,
          .duration = push.duration,
          .loss = push.loss,
          .done = stop_.fraction_done(progress()),
          .rate = plan_.optimizer_setting().schedule.factor({pushes_.rounds()})};
}

void ParameterServer::on_push(int worker, const protocol::Push& push) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  if (!costs_.empty()) do_stated_work(Work::Kind::push, costs_[key_].push);
  client.last_push = push;
  client.waits = true;
  client.dropped = false;
  ++client.pushes;
  client.all_samples += push.samples;
  largest_push_ = std::max(largest_push_, static_cast<int>(push.samples));
  client.steps += push.local_steps;
  note_recorded(client, push.commit_round);
  if (!counts_updates_) pushes_.count(1);
  samples_ += push.samples;
  if (!is_coordinator_ || !gets_pushes_) commits_.hear(push.commit_round);
  const Progress reached = progress();
  if (!counts_updates_ && pushes_.is_between_rounds()) hold_replies_if_due(reached);
  const sync::Push event = event_of(worker, push);
  stopping_ = stopping_ || event.done >= 1.0 || (holds_replies_ && commits_.ends_job_after(pushes_.rounds()));
  decide(event);
  tell_left_if_enough();
  checkpoint_if_due();
  stop_.report(reached);
}

/// A round has ended, whose replies are not sent before its commit.
void ParameterServer::hold_replies_if_due(const Progress& progress) {
  const std::int64_t round = pushes_.rounds();
  commits_.round_done(round, steward_ ? members_ : static_cast<int>(workers()), is_last_round(progress));
  holds_replies_ = commits_.is_due(round);
}

/// Several servers must know it alike: they count the same rounds, and where workers wait for each other the
/// same samples.
bool ParameterServer::is_last_round(Progress progress) const {
  if (is_alone_) return stopping_ || stop_.is_reached(progress);
  progress.now = {};
  if (!plan_.algorithm().make.lockstep) progress.samples = 0;
  return stop_.is_reached(progress);
}

/// The policy decides on the event, which is recorded, as a replay does it.
void ParameterServer::decide(const sync::ServerEvent& event) {
  decisions_ = sync::decide(*policy_, event);
  if (journal_.keep_decisions || events_.keeps()) {
    const std::string text = sync::to_text(event);
    events_.add(text);
    if (journal_.keep_decisions)
      journal_.decisions.push_back({context_.rank(), "server", text, sync::to_text(decisions_)});
  }
  carry_out();
  if (holds_replies_) commit();
}

void ParameterServer::carry_out() {
  if (!decisions_.empty()) model_.select(keys_[key_]);
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
  if (!is_last_key()) return;
  const Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  accepted_.push_back({client.rank, client.last_push});
}

void ParameterServer::fold(bool before_update) {
  if (model_.accepted() == 0) return;
  if (model_.is_compressed()) {
    const Bytes size = model_.selected_bytes() * model_.accepted();
    compute({.kind = Work::Kind::decompress, .bytes = size}, model_.decompress());
  }
  const Work work{.kind = Work::Kind::reduce, .bytes = model_.summed_bytes(before_update)};
  compute(work, model_.fold(before_update));
}

void ParameterServer::apply(double scale) {
  fold(/*before_update=*/true);
  const auto kind = model_.only_averages() ? Work::Kind::reduce : Work::Kind::update;
  // The pushes of the round are counted by its last key.
  const std::int64_t round = is_last_key() && !counts_updates_ ? pushes_.current() : pushes_.rounds();
  compute({.kind = kind, .bytes = model_.selected_bytes()},
          model_.apply(scale * ramp_.factor(rate_factor_, round), round));
  if (!is_last_key()) return;
  // Every server counts its own updates; one of them records for all.
  if (is_coordinator_ && gets_pushes_)
    for (const auto& [from, push] : accepted_)
      journal_.note_applied(from, version_ - push.version, push.samples);
  accepted_.clear();
  ++version_;
  if (!counts_updates_) return;
  pushes_.end_round();
  // Replies to this round say whether the job ends.
  const Progress reached = progress();
  hold_replies_if_due(reached);
  stopping_ = stopped_ = stopping_ || stop_.fraction_done(reached) >= 1.0 ||
                         (holds_replies_ && commits_.ends_job_after(pushes_.rounds()));
}

/// The push stays in its slot until the next one overwrites it.
void ParameterServer::discard(const sync::Discard& decision) {
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  client.dropped = true;
  if (!client.is_present()) drop_accepted(decision.worker);
  if (is_coordinator_ && gets_pushes_) journal_.dropped_samples += client.last_push.samples;
}

void ParameterServer::reply(const sync::Reply& decision) {
  // Its last push was complete, and its machine is gone.
  if (!clients_[static_cast<std::size_t>(decision.worker)].is_present()) return;
  // The worker's next push will overwrite its slot.
  if (model_.has_accepted(decision.worker)) fold();
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  listen(decision.worker);
  client.replied_model = model_.hand_out(decision.worker);
  if (!is_last_key()) {
    client.outgoing.note.emplace();
    if (!costs_.empty()) do_stated_work(Work::Kind::reply, costs_[key_].reply);
    return send_reply(client);
  }
  tell_deals(client);
  client.replied_version = version_;
  client.waits = false;
  if (const int batch = batch_of(decision); batch > 0) client.batch = batch;
  if (decision.local_steps > 0) client.local_steps = decision.local_steps;
  client.outgoing.note = note_of_reply(decision);
  if (!costs_.empty()) do_stated_work(Work::Kind::reply, costs_[key_].reply);
  send_reply(client);
}

/// The worker's batch size from now on; 0: unchanged.
int ParameterServer::batch_of(const sync::Reply& decision) const {
  return batches_.empty() ? decision.batch : batches_[static_cast<std::size_t>(decision.worker)];
}

protocol::Reply ParameterServer::note_of_reply(const sync::Reply& decision) const {
  const Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  // Over an all-reduce, also this worker was part of the last round, and ends when the others do.
  const bool is_late = client.dropped && !gets_pushes_;
  return {.version = version_,
          .batch = batch_of(decision),
          .local_steps = decision.local_steps,
          .stops = (is_late ? stopped_ : stopping_) && is_coordinator_,
          .dropped = client.dropped,
          .all_samples = samples_,
          .commit_round = static_cast<std::int32_t>(commits_.announced()),
          .deals = static_cast<std::int32_t>(client.deals_told)};
}

/// Sends the pieces that the worker has asked for, in the order in which the next forward needs them.
void ParameterServer::send_reply(Client& client) {
  if (holds_replies_) return;
  Outgoing& outgoing = client.outgoing;
  for (; outgoing.note && outgoing.sent < outgoing.asked; ++outgoing.sent) {
    const std::size_t piece = outgoing.key.last - outgoing.sent;
    const bool is_last = piece + 1 == model_.pieces().size();
    const Slice slice = model_.slice(client.replied_model, piece);
    client.reply.push_back(is_last ? protocol::send<"replies">(context_, client.rank, *outgoing.note, slice)
                                   : protocol::send<"reply-pieces">(context_, client.rank, slice,
                                                                    model_.pieces()[piece].bucket));
  }
}

/// Expects the worker's request for the next piece of its reply. It may come before the policy replies.
void ParameterServer::listen_for_pull(int worker) {
  const Client& client = clients_[static_cast<std::size_t>(worker)];
  const std::size_t piece = client.outgoing.key.last - client.outgoing.asked;
  inbox_[workers() + static_cast<std::size_t>(worker)] =
      protocol::receive<"pulls">(context_, client.rank, {}, model_.pieces()[piece].bucket);
}

void ParameterServer::on_pull(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  if (++client.outgoing.asked < client.outgoing.size()) listen_for_pull(worker);
  send_reply(client);
}

/// Sends the rest of every reply. A worker asks for it without waiting for other ranks.
void ParameterServer::finish_pulls() {
  for (std::size_t worker = 0; worker < workers(); ++worker)
    while (clients_[worker].outgoing.note &&
           clients_[worker].outgoing.sent < clients_[worker].outgoing.size()) {
      context_.wait(inbox_[workers() + worker]);
      on_pull(static_cast<int>(worker));
    }
}

/// What the server does itself with pushes of the key, and with replies to them.
ParameterServer::KeyCost ParameterServer::cost_of(const ShardKey& key, const ModelDescription& model) {
  const auto& all = model_.pieces();
  const ShardPieces pieces(all.begin() + static_cast<std::ptrdiff_t>(key.first),
                           all.begin() + static_cast<std::ptrdiff_t>(key.last) + 1);
  KeyCost cost{.tensors = tensors_in(pieces, model)};
  for (std::size_t piece = key.first; piece <= key.last; ++piece) {
    cost.push += model_.slot(0, piece).size;
    cost.reply += all[piece].bytes();
  }
  return cost;
}

/// What the server does itself with a push or a reply, one after the other, where its host states the cost.
/// Otherwise its updates and sums are its work.
void ParameterServer::do_stated_work(Work::Kind kind, Bytes size) {
  compute({.kind = kind, .bytes = size, .tensors = costs_[key_].tensors}, {});
}

void ParameterServer::answer(const sync::AnswerReport& decision) {
  // The worker expects each answer before it asks again, so the wait for the previous one does not block.
  Client& client = clients_[static_cast<std::size_t>(decision.worker)];
  if (!client.answer.empty()) context_.wait(client.answer);
  if (answer_time_ > Seconds(0)) {
    Pending answering = context_.sleep(answer_time_);
    context_.wait(answering);
  }
  --client.unanswered;
  client.answer = protocol::send<"answers">(
      context_, client.rank, protocol::Answer{.version = client.reported_version, .ready = decision.ready});
}

void ParameterServer::finish_reply(Client& client) {
  context_.wait_all(client.reply);
  client.reply.clear();
  client.replied_model.reset();
}

void ParameterServer::checkpoint_if_due() {
  if (!pushes_.is_between_rounds()) return;
  const std::int64_t round = pushes_.rounds();
  if (states_.is_due(round)) save_state(round);
  if (holds_model_ && checkpoints_.is_due(round)) {
    const std::vector<float> whole = gather_model();
    checkpoints_.save(round, samples_, whole, stopping_);
  }
  if (!stopping_ && accuracy_stop_.waits_after(round)) finish_pulls();
  // Replies of this round have been sent, so the job ends with the next one.
  if (!stopping_) stopping_ = accuracy_stop_.is_reached_after(round);
}

/// The state between two pushes, without the model and the policy.
void ParameterServer::serialise(StateArchive& state) {
  std::int64_t pushes = pushes_.events_at(static_cast<int>(workers()));
  state.number("pushes", pushes);
  if (state.restores()) pushes_.restore(pushes);
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
  tandem::serialise(state, ramp_);
  model_.serialise(state);
}

SavedState ParameterServer::current_state() {
  SavedState state;
  serialise(state);
  model_.serialise_sum(state);
  // A policy that has seen workers leave would not answer them in a resumed job, which has all workers again.
  const bool answered =
      present_ == static_cast<int>(clients_.size()) &&
      std::ranges::none_of(clients_, [](const Client& c) { return c.waits || c.unanswered > 0; });
  const bool current = answered && std::ranges::all_of(clients_, [this](const Client& c) {
                         return c.replied_version == version_;
                       });
  state.set("all_answered", answered ? 1 : 0);
  state.set("all_current", current ? 1 : 0);
  state.set_text("policy", serialised(*policy_));
  if (const auto deals = changed_deals(); !deals.empty()) state.set_text("deals", to_json(deals).dump());
  return state;
}

void ParameterServer::save_state(std::int64_t round) {
  events_.flush();
  records_.save({.round = round});
  states_.save(round, current_state());
}

/// After a round, whose replies wait for it. The writer gets the parts of the model last, so all servers have
/// written theirs when it has.
void ParameterServer::commit() {
  const std::int64_t round = pushes_.rounds();
  const bool is_evaluated = checkpoints_.is_due(round), is_writer = context_.rank() == writer_;
  if (is_evaluated && is_writer) checkpoints_.note_due(round, samples_);
  if (steward_ && gets_pushes_) commits_.set_recorded(recorded_by_all());
  commits_.begin(round);
  PartOfCommit part{.model_stays = is_evaluated, .is_whole = records_.try_save({.round = round})};
  if (commits_.keeps_files()) part.state = current_state();
  events_.flush_if_possible();
  if (holds_model_ && is_writer) part.model = gather_model();
  commits_.write(std::move(part));
  if (holds_model_ && !is_writer) gather_model();
  holds_replies_ = false;
  for (Client& client : clients_) {
    if (steward_ && !gets_pushes_) confirm_part(client);
    send_reply(client);
  }
}

void ParameterServer::resume(const Job& job) {
  SavedState state = state_of_decider(job, assignment_.index);
  serialise(state);
  for (Client& client : clients_) client.replied_version = version_;
  const ResumePoint& from = *job.resume();
  if (!from.policies_continue) {
    policy_version_ = version_;
    policy_began_ = before_;
    if (job.is_restarted()) log_restored(sync::restore_event(serialised(*policy_)));
    return;
  }
  model_.serialise_sum(state);
  const std::string policy = state.text("policy");
  restore(*policy_, policy);
  const std::string event = sync::restore_event(policy);
  events_.add(event);
  log_restored(event);
}

/// A replay continues with the same state.
void ParameterServer::log_restored(const std::string& event) {
  if (journal_.keep_decisions) journal_.decisions.push_back({context_.rank(), "server", event, ""});
}

/// The writer of checkpoints collects the parts of all servers; the others send theirs and get an empty
/// vector. When math is modelled, messages have the same sizes.
std::vector<float> ParameterServer::gather_model() {
  const auto snapshot = model_.snapshot();
  if (context_.rank() != writer_) {
    float* data = snapshot ? snapshot->data() : nullptr;
    Pending part = protocol::send<"checkpoint-parts">(context_, writer_,
                                                      {model_.bytes(), reinterpret_cast<std::byte*>(data)});
    context_.wait(part);
    return {};
  }
  std::vector<float> whole = model_.initial();
  whole.resize(snapshot ? static_cast<std::size_t>(model_elements_) : 0);
  std::vector<float> received;
  if (snapshot) {
    received.resize(snapshot->size());
    copy_and_await(context_.device(), received.data(), snapshot->data(), snapshot->bytes());
  }
  for (std::size_t shard = 0; shard < servers_.size(); ++shard) {
    const ShardPieces& pieces = plan_.shard_layout()[shard];
    if (servers_[shard] != writer_) {
      received.resize(snapshot ? static_cast<std::size_t>(shard_elements(pieces)) : 0);
      std::byte* target = snapshot ? reinterpret_cast<std::byte*>(received.data()) : nullptr;
      Pending arriving = protocol::receive<"checkpoint-parts">(context_, servers_[shard],
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
