#include "workloads/roles/server/worker_lines.hpp"

#include <limits>
#include <utility>

namespace tandem {
namespace {

/// A server stays.
constexpr int only_one = 1;

protocol::Push push_of(const protocol::Withdrawn& note) {
  return {.version = note.version,
          .samples = note.samples,
          .local_steps = note.local_steps,
          .commit_round = note.commit_round,
          .duration = note.duration,
          .loss = std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace

WorkerLines::WorkerLines(Context& context, ServerModel& model, std::vector<ShardKey> keys,
                         const Setting& setting, StatedWork work)
    : context_(context),
      model_(model),
      setting_(setting),
      inbox_(std::move(keys), setting.workers.size()),
      replies_(setting.workers.size(), setting.requests_pulls, setting.omits_known_models),
      lines_(setting.workers.size()),
      work_(std::move(work)) {
  const std::size_t of_workers = (setting.requests_pulls ? 2 : 1) * setting.workers.size();
  awaited_.resize(of_workers + work_.threads() + (setting.hears_other ? 1 : 0));
  work_.set_pendings(std::span(awaited_).subspan(of_workers, work_.threads()));
  for (std::size_t worker = 0; worker < lines_.size(); ++worker) {
    lines_[worker].rank = setting.workers[worker];
    lines_[worker].pieces.resize(model.pieces().size());
  }
}

WorkerLines::Event WorkerLines::next(bool only_other) {
  if (only_other) return OfOther{context_.wait(other()).note};
  const std::size_t of_workers = (setting_.requests_pulls ? 2 : 1) * lines_.size();
  while (true) {
    if (const auto ready = work_.take_push()) return *ready;
    const Completion arrived = context_.wait_any(awaited_);
    if (setting_.hears_other && arrived.index + 1 == awaited_.size()) return OfOther{arrived.note};
    if (arrived.index >= of_workers) {
      if (const auto replied = work_.end(context_, arrived.index - of_workers)) send_worked_on(*replied);
      continue;
    }
    const int worker = static_cast<int>(arrived.index % lines_.size());
    std::optional<Event> event;
    if (line(worker).is_joining)
      event = OfJoin{worker, arrived};
    else if (arrived.index >= lines_.size())
      on_request(worker);
    else if (inbox_.lacks_piece(worker))
      event = carry_out(worker, inbox_.on_piece(worker));
    else
      event = on_note(worker, arrived.note);
    if (event) return *event;
  }
}

void WorkerLines::listen(int worker) {
  const ShardKey& key = inbox_.expected(worker);
  for (std::size_t piece = key.first; piece < key.last; ++piece)
    line(worker).pieces[piece] = protocol::receive<"push-pieces">(
        context_, line(worker).rank, model_.pushes().buffer(worker, piece), model_.pieces()[piece].bucket);
  listen_for_note(worker);
}

void WorkerLines::listen_for_note(int worker) {
  const std::size_t piece = inbox_.expected(worker).last;
  const bool is_last = inbox_.is_last_key(inbox_.key(worker));
  next_of(worker) =
      protocol::receive<"pushes">(context_, line(worker).rank, model_.pushes().buffer(worker, piece),
                                  is_last ? Channel::no_bucket : model_.pieces()[piece].bucket);
}

std::optional<WorkerLines::Event> WorkerLines::on_note(int worker, const Note& note) {
  if (const auto push = protocol::as<protocol::Push>(note))
    return carry_out(worker, inbox_.on_note(worker, *push));
  if (const auto withdrawn = protocol::as<protocol::Withdrawn>(note)) {
    line(worker).is_withdrawn = true;
    return carry_out(worker, inbox_.on_note(worker, push_of(*withdrawn)));
  }
  if (const auto report = protocol::as<protocol::Report>(note)) {
    replies_.on_report(worker, report->version);
    listen_for_note(worker);
    return Reported{worker, *report};
  }
  protocol::unpack<protocol::Leave>(note);
  Line& of = line(worker);
  context_.wait_all(of.pieces);
  of.finish_reply(context_);
  if (!of.answer.empty()) context_.wait(of.answer);
  return Left{worker};
}

/// The note may overtake pieces of the push that are still in flight; other workers must not wait for these.
std::optional<WorkerLines::Event> WorkerLines::carry_out(int worker, const PushInbox::Action& action) {
  if (const auto* lacking = std::get_if<PushInbox::AwaitPiece>(&action)) {
    next_of(worker) = std::move(line(worker).pieces[lacking->piece]);
    return std::nullopt;
  }
  // A worker pushes only after it has its reply, so this does not block.
  line(worker).finish_reply(context_);
  const Pushed pushed{worker, begin_answer(worker), std::get<PushInbox::Complete>(action).push,
                      std::exchange(line(worker).is_withdrawn, false)};
  if (!pushed.is_withdrawn && work_.begin_push(context_, pushed)) return std::nullopt;
  return pushed;
}

std::size_t WorkerLines::begin_answer(int worker) {
  const std::size_t key = line(worker).replied_key = inbox_.begin_answer(worker);
  replies_.begin(worker, inbox_.keys()[key]);
  listen_for_request(worker);
  return key;
}

void WorkerLines::listen_for_request(int worker) {
  if (const auto piece = replies_.awaited_request(worker))
    request_of(worker) =
        protocol::receive<"pulls">(context_, line(worker).rank, {}, model_.pieces()[*piece].bucket);
}

void WorkerLines::on_request(int worker) {
  replies_.on_request(worker);
  listen_for_request(worker);
  send_pieces(worker);
}

void WorkerLines::send_pieces(int worker) {
  Line& to = line(worker);
  while (const auto piece = replies_.next_piece(worker)) {
    const bool is_last = *piece + 1 == model_.pieces().size();
    const Slice slice = replies_.brings_model(worker) ? model_.slice(to.handed_out, *piece) : Slice{};
    to.reply.push_back(
        is_last ? protocol::send<"replies">(context_, to.rank, replies_.note(worker), slice)
                : protocol::send<"reply-pieces">(context_, to.rank, slice, model_.pieces()[*piece].bucket));
  }
}

void WorkerLines::send_worked_on(int worker) {
  replies_.set_in_work(worker, false);
  send_pieces(worker);
}

void WorkerLines::Line::finish_reply(Context& context) {
  context.wait_all(reply);
  reply.clear();
  handed_out = {};
}

void WorkerLines::send_deals(int worker, const DealBook::Message& deals) {
  const Bytes size(deals.count * static_cast<std::int64_t>(sizeof(std::int64_t)));
  Line& to = line(worker);
  to.reply.push_back(
      protocol::send<"deals">(context_, to.rank, {size, reinterpret_cast<std::byte*>(deals.numbers)}));
}

void WorkerLines::reply(int worker, const std::optional<protocol::Reply>& note) {
  if (note)
    replies_.reply(worker, *note);
  else
    replies_.reply_to_part(worker);
  const bool brings_model = !note || replies_.brings_model(worker);
  replies_.set_in_work(worker, work_.begin_reply(context_, worker, line(worker).replied_key, brings_model));
  send_pieces(worker);
}

void WorkerLines::release_replies() {
  replies_.hold(false);
  for (int worker = 0; worker < static_cast<int>(lines_.size()); ++worker) send_pieces(worker);
}

void WorkerLines::finish_pulls() {
  for (const int worker : work_.end_all(context_)) send_worked_on(worker);
  for (int worker = 0; worker < static_cast<int>(lines_.size()); ++worker)
    while (replies_.has_unsent(worker)) {
      context_.wait(request_of(worker));
      on_request(worker);
    }
}

void WorkerLines::answer(int worker, bool ready) {
  // The worker expects each answer before it asks again, so the wait for the previous one does not block.
  Line& to = line(worker);
  if (!to.answer.empty()) context_.wait(to.answer);
  if (setting_.answer_time > Seconds(0)) {
    Pending answering = context_.sleep(setting_.answer_time);
    context_.wait(answering);
  }
  to.answer = protocol::send<"answers">(context_, to.rank, replies_.answer(worker, ready));
}

std::optional<WorkerLines::Pushed> WorkerLines::disconnect(int worker, bool takes_push) {
  Line& of = line(worker);
  of.draining.push_back(context_.disconnect(of.rank));
  bool is_whole = true;
  const auto take = [&](Pending& operation) -> std::optional<Note> {
    if (operation.empty()) return std::nullopt;
    if (context_.is_done(operation)) {
      const Completion ended = context_.wait(operation);
      if (ended.outcome == Outcome::done) return ended.note;
    } else {
      of.draining.push_back(std::move(operation));
    }
    is_whole = false;
    return std::nullopt;
  };
  const auto last = take(next_of(worker));
  for (Pending& piece : of.pieces) take(piece);
  const auto push = inbox_.on_gone(worker, last, is_whole);
  const bool is_withdrawn = std::exchange(of.is_withdrawn, false);
  // Sends of the last reply, whose model must remain until they end.
  for (Pending& send : of.reply) take(send);
  of.reply.clear();
  take(of.answer);
  if (!push || !takes_push) return std::nullopt;
  const Pushed pushed{worker, begin_answer(worker), *push, is_withdrawn};
  // In a job from which workers depart, no thread besides this one works.
  if (!is_withdrawn) work_.begin_push(context_, pushed);
  return pushed;
}

bool WorkerLines::advance_join(int worker, const Completion& last) {
  Line& of = line(worker);
  if (!of.await_arrival(context_, last, next_of(worker), only_one)) return false;
  of.is_joining = false;
  return true;
}

void WorkerLines::cancel_join(int worker) { line(worker).leave(context_, next_of(worker), only_one); }

void WorkerLines::welcome(int worker, protocol::Welcome greeting) {
  greeting.incarnation = line(worker).incarnation;
  Pending sent = protocol::send<"welcomes">(context_, line(worker).rank, greeting);
  context_.wait(sent);
}

void WorkerLines::finish() {
  for (Line& each : lines_) context_.wait_all(each.draining);
}

}  // namespace tandem
