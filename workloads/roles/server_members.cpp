// The members of a parameter server: how it learns of workers that depart and join, what it ends with those
// that are gone, and what newcomers get.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "policies/recovery/scaling.hpp"
#include "policies/sync/replay.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/parameter_server.hpp"

namespace tandem {
namespace {

/// A server stays.
constexpr int only_one = 1;

}  // namespace

/// Where workers may join, the steward says when no more do.
bool ParameterServer::is_over() const { return present_ == 0 && (!steward_ || no_more_join_); }

void ParameterServer::hear_steward(const Note& note) {
  if (const auto departed = protocol::as<protocol::Departed>(note)) {
    on_departed(departed->worker);
  } else if (const auto joined = protocol::as<protocol::Joined>(note)) {
    on_joined(joined->worker, joined->incarnation);
  } else if (const auto training = protocol::as<protocol::Training>(note)) {
    is_paused_ = training->paused;
  } else {
    protocol::unpack<protocol::End>(note);
    no_more_join_ = true;
    return;
  }
  inbox_[steward_entry()] = protocol::receive<"membership">(context_, *steward_);
}

/// The worker's machine is gone. A push that has arrived as a whole still counts (recovery.on_loss: keep).
void ParameterServer::on_departed(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  if (!client.is_present()) return lose_place(worker);  // it has ended by itself
  if (client.is_joining) return cancel_join(worker);
  set_member(client, false);
  const auto push = drop_messages(worker);
  const bool drops = recovery_.on_loss == LossRule::drop;
  if (push && !drops) {
    begin_answer(client);
    model_.note_push(worker, push->version);
    on_push(worker, *push);
  }
  lose_place(worker);
  // One that has pushed, or begun to, is nobody for whom the round waits.
  const bool is_awaited = !client.waits && client.key == 0 && client.unanswered == 0;
  client.waits = false;
  client.unanswered = 0;
  leave(worker, drops, is_awaited && is_short());
  checkpoint_if_due();
}

/// Ends what is open between this server and the worker, and returns its push if it is complete. What is
/// still being transferred ends later: other workers must not wait for that.
std::optional<protocol::Push> ParameterServer::drop_messages(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  Client& client = clients_[index];
  client.draining.push_back(context_.disconnect(client.rank));
  bool is_whole = true;
  const auto take = [&](Pending& operation) -> std::optional<Note> {
    if (operation.empty()) return std::nullopt;
    if (context_.is_done(operation)) {
      const Completion ended = context_.wait(operation);
      if (ended.outcome == Outcome::done) return ended.note;
    } else {
      client.draining.push_back(std::move(operation));
    }
    is_whole = false;
    return std::nullopt;
  };
  auto push = std::exchange(client.push, std::nullopt);
  const auto last = take(inbox_[index]);
  if (!push && last) push = protocol::as<protocol::Push>(*last);
  for (Pending& piece : client.pieces) take(piece);
  if (!is_whole) push.reset();
  // Sends of the last reply, whose model must remain until they end.
  for (Pending& send : client.reply) take(send);
  client.reply.clear();
  take(client.answer);
  return push;
}

/// It has departed again.
void ParameterServer::cancel_join(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  clients_[index].leave(context_, inbox_[index], only_one);
  --present_;
  lose_place(worker);
  ask_for_end();
}

/// Slots for spares are empty as the job begins.
void ParameterServer::leave_spares_out() {
  for (std::size_t worker = first_workers_; worker < workers(); ++worker) {
    leave(static_cast<int>(worker));
    clients_[worker].be_absent();
  }
}

void ParameterServer::lose_place(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  if (deals_ && client.has_place) deals_->leave(worker, client.all_samples);
  client.has_place = false;
}

void ParameterServer::take_place(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  // The last one may have ended by itself, before its machine departed.
  lose_place(worker);
  if (deals_) deals_->join(worker, client.all_samples);
  client.has_place = true;
}

/// Samples that the worker may have taken beyond those of its pushes when it hears of a deal.
std::int64_t ParameterServer::most_ahead(const Client& client) const {
  if (!client.is_member()) return 0;
  const std::int64_t batch = std::max(plan_.sync_setting().batch, client.batch);
  // One that has no reply takes nothing. The next push of another one may be larger than any before.
  constexpr std::int64_t margin = 2;
  const std::int64_t most = std::max<std::int64_t>(batch, largest_push_);
  const std::int64_t until_reply = client.waits ? 0 : margin * most;
  return until_reply + std::max(client.loads_ahead ? batch : 0, prefetch_ * most);
}

/// Where the members are others than those of the last deal. Each worker hears of it with its next reply, and
/// continues until then with what it had.
void ParameterServer::deal_if_due() {
  if (!deals_ || !deals_->is_due()) return;
  Dealt dealt{.numbers = {}, .count = deals_->count_numbers_of_change()};
  const auto counted = counted_samples();
  std::vector<std::int64_t> taken = counted;
  for (std::size_t worker = 0; worker < taken.size(); ++worker) taken[worker] += most_ahead(clients_[worker]);
  const auto change = deals_->deal(taken, counted);
  if (knows_samples_) dealt.numbers = to_numbers(change);
  dealt_.push_back(std::move(dealt));
}

namespace {

Slice slice_of(std::vector<std::int64_t>& numbers, std::int64_t count) {
  return {Bytes(count * static_cast<std::int64_t>(sizeof(std::int64_t))),
          numbers.empty() ? nullptr : reinterpret_cast<std::byte*>(numbers.data())};
}

}  // namespace

/// Its reply follows. One message has all that the worker has not heard of.
void ParameterServer::tell_deals(Client& client) {
  deal_if_due();
  const std::size_t first = std::exchange(client.deals_told, dealt_.size());
  if (first == dealt_.size()) return;
  if (first + 1 == dealt_.size()) return send_deals(client, dealt_.back().numbers, dealt_.back().count);
  client.deal_numbers.clear();
  std::int64_t count = 0;
  for (std::size_t deal = first; deal < dealt_.size(); ++deal) {
    std::ranges::copy(dealt_[deal].numbers, std::back_inserter(client.deal_numbers));
    count += dealt_[deal].count;
  }
  send_deals(client, client.deal_numbers, count);
}

/// `numbers`: stay until the reply has been sent.
void ParameterServer::send_deals(Client& client, std::vector<std::int64_t>& numbers, std::int64_t count) {
  client.reply.push_back(protocol::send<"deals">(context_, client.rank, slice_of(numbers, count)));
}

void ParameterServer::tell_all_deals(Client& client) {
  if (!deals_) return;
  client.deals_told = dealt_.size();
  const auto counted = counted_samples();
  if (knows_samples_) client.deal_numbers = deals_->to_numbers(counted);
  send_deals(client, client.deal_numbers, deals_->count_numbers(counted));
}

/// With what counts of the present one; empty: all as when the job began.
sampling::Deals ParameterServer::changed_deals() const {
  if (!deals_ || !knows_samples_ || !deals_->has_changed()) return {};
  return deals_->all(counted_samples());
}

/// By slot, of all its workers.
std::vector<std::int64_t> ParameterServer::counted_samples() const {
  std::vector<std::int64_t> counted;
  for (const Client& client : clients_) counted.push_back(client.all_samples);
  return counted;
}

/// A new worker in the slot of one that is gone, or in one for spares: it joins when nothing of that one is
/// left on either side.
void ParameterServer::on_joined(int worker, int incarnation) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  TANDEM_CHECK(!client.is_present(), "worker", worker);
  client.begin(incarnation);
  take_place(worker);
  ++present_;
  advance_join(worker, {});
}

/// `last`: what the join has waited for.
void ParameterServer::advance_join(int worker, const Completion& last) {
  const auto index = static_cast<std::size_t>(worker);
  Client& client = clients_[index];
  if (!client.await_arrival(context_, last, inbox_[index], only_one)) return;
  // It takes nothing before it hears of the deal.
  deal_if_due();
  set_member(client, true);
  welcome(worker);
}

/// The worker gets what the others have.
void ParameterServer::welcome(int worker) {
  Client& client = clients_[static_cast<std::size_t>(worker)];
  const bool is_awaited = left_.erase(worker) > 0;
  // Its next push overwrites that of the slot's last worker.
  if (model_.has_accepted(worker)) fold();
  client.last_push.version = client.reported_version = client.replied_version = version_;
  client.batch = client.local_steps = 0;
  client.waits = client.dropped = false;
  client.heard_commit = 0;
  client.recorded.reset();
  rescale();
  listen(worker);
  Pending greeting = protocol::send<"welcomes">(
      context_, client.rank,
      protocol::Welcome{
          .incarnation = client.incarnation,
          .deals = static_cast<std::int32_t>(deals_ ? deals_->count_numbers(counted_samples()) : 0),
          .rounds = pushes_.rounds(),
          .samples = client.all_samples,
          .steps = client.steps});
  context_.wait(greeting);
  tell_all_deals(client);
  begin_answer(client);
  if (!costs_.empty()) do_stated_work(Work::Kind::reply, costs_[key_].reply);
  client.replied_model = model_.hand_out(worker);
  client.outgoing.note = note_of_reply({.worker = worker});
  send_reply(client);
  // The round waits for this slot already.
  if (is_awaited) return;
  decide(sync::Joined{now_of_policy(), worker, version_of_policy(version_)});
}

/// Workers that come and go commit on their own. The reply says whether this part of the commit is written.
void ParameterServer::confirm_part(Client& client) {
  if (auto& note = client.outgoing.note) note->commit_round = static_cast<std::int32_t>(commits_.announced());
}

/// A worker writes its records when a reply announces a commit, before it pushes again. A commit that is
/// announced in advance may have counted pushes that came later: then only the one before is sure.
void ParameterServer::note_recorded(Client& client, std::int64_t heard) const {
  const std::int64_t before = std::exchange(client.heard_commit, heard);
  if (before != heard || !client.recorded) client.recorded = commits_.are_announced_ahead() ? before : heard;
}

/// The commit up to which all workers have written their records. Those that are gone did so when they went.
std::int64_t ParameterServer::recorded_by_all() const {
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  for (const Client& client : clients_)
    if (client.is_member() && client.recorded) last = std::min(last, *client.recorded);
  return last;
}

void ParameterServer::set_member(Client& client, bool is_member) {
  members_ += static_cast<int>(is_member) - static_cast<int>(client.is_member());
  client.has_ended = !is_member;
  client.is_joining = false;
}

/// The set of members has changed.
void ParameterServer::rescale() {
  const int count = std::max(1, members_);
  pushes_.set_events_per_round(count);
  const int all = static_cast<int>(first_workers_);
  rate_factor_ = recovery::rate_factor(recovery_.scale_rate, all, count);
  if (recovery_.batch == BatchRule::keep) return;
  batches_.assign(workers(), 0);
  const auto shares = recovery::batches(recovery_.batch, plan_.sync_setting().batch, all, count);
  std::size_t next = 0;
  for (std::size_t worker = 0; worker < workers(); ++worker)
    if (clients_[worker].is_member()) batches_[worker] = std::max(1, static_cast<int>(shares[next++]));
}

/// The worker is absent from now on.
void ParameterServer::leave(int worker, bool drops, bool stays_awaited) {
  set_member(clients_[static_cast<std::size_t>(worker)], false);
  --present_;
  if (steward_) rescale();
  if (stays_awaited)
    left_.insert(worker);
  else
    tell_left(worker, drops);
  ask_for_end();
}

/// Fewer workers than the job needs (recovery.least): the round in progress waits for others in the slots of
/// those that have left, whether the remaining ones have pushed or not. As over an all-reduce, no update is
/// made of so few gradients.
bool ParameterServer::is_short() const {
  if (!counts_updates_ || !gets_pushes_ || stopping_) return false;
  return std::ranges::count_if(clients_, [](const Client& client) {
           return client.has_place && !client.is_joining;
         }) < recovery_.least;
}

/// There are enough again: no round waits any longer for those whose slots are still empty.
void ParameterServer::tell_left_if_enough() {
  while (!left_.empty() && !is_short()) tell_left(left_.extract(left_.begin()).value(), false);
}

void ParameterServer::tell_left(int worker, bool drops) {
  const sync::Left event{now_of_policy(), worker, drops};
  for (key_ = 0; !is_last_key(); ++key_) {
    decisions_ = sync::decide(*key_policies_[key_], event);
    carry_out();
  }
  decide(event);
}

/// Of a worker that is gone. No push of an earlier worker in its slot remains, since these were dropped, too.
void ParameterServer::drop_accepted(int worker) {
  if (recovery_.on_loss == LossRule::keep) return;
  model_.drop(worker);
  const Rank rank = clients_[static_cast<std::size_t>(worker)].rank;
  std::erase_if(accepted_, [rank](const Accepted& one) { return one.rank == rank; });
}

/// The coordinator knows that the job ends; the steward, that no worker joins any more.
void ParameterServer::ask_for_end() {
  if (!steward_ || !is_coordinator_ || !stopping_ || present_ > 0 || has_asked_for_end_) return;
  has_asked_for_end_ = true;
  tell_steward_end();
}

void ParameterServer::tell_steward_end() {
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
}

void ParameterServer::record_end() {
  // Without a model, it only leads the workers, which know what they have applied.
  if (!gets_pushes_) return;
  journal_.counted_rounds = pushes_.rounds();
  for (const auto& [from, push] : accepted_) journal_.accepted_samples += push.samples;
}

}  // namespace tandem
