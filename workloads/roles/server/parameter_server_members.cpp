// How a parameter server learns of workers that depart and join, the operations that it ends with those that
// are gone, and the data that newcomers get.
#include <algorithm>
#include <optional>

#include "policies/sync/replay.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/server/parameter_server.hpp"

namespace tandem {

/// Of the steward.
void ParameterServer::handle(const WorkerLines::OfOther& event) {
  const Note& note = event.note;
  if (const auto departed = protocol::as<protocol::Departed>(note)) {
    on_departed(departed->worker);
  } else if (const auto joined = protocol::as<protocol::Joined>(note)) {
    on_joined(joined->worker, joined->incarnation);
  } else if (const auto training = protocol::as<protocol::Training>(note)) {
    is_paused_ = training->paused;
  } else {
    protocol::unpack<protocol::End>(note);
    return members_.end_joins();
  }
  lines_.other() = protocol::receive<"membership">(context_, *steward_);
}

/// The worker's machine is gone. A push that has arrived as a whole still counts (recovery.on_loss: keep).
void ParameterServer::on_departed(int worker) {
  if (!members_.is_present(worker)) return lose_place(worker);  // it has ended by itself
  if (!members_.is_member(worker)) {
    // It has departed again.
    lines_.cancel_join(worker);
    members_.cancel_join(worker);
    lose_place(worker);
    return ask_for_end();
  }
  members_.depart(worker);
  cancels_.forget(worker);
  const bool drops = recovery_.on_loss == LossRule::drop;
  if (const auto pushed = lines_.disconnect(worker, !drops)) {
    key_ = pushed->key;
    model_.pushes().note_push(worker, pushed->push.version);
    on_push(worker, pushed->push, pushed->is_withdrawn);
  }
  lose_place(worker);
  // The round does not wait for a worker that has pushed, or begun to.
  ReplySender& replies = lines_.replies();
  const bool is_awaited =
      !replies.awaits_reply(worker) && lines_.inbox().key(worker) == 0 && !replies.awaits_answer(worker);
  replies.forget(worker);
  leave(worker, drops, is_awaited && members_.is_short(progress_.is_stopping()));
  checkpoint_if_due();
}

/// Slots for spares are empty as the job begins.
void ParameterServer::leave_spares_out() {
  for (int worker = members_.first(); worker < members_.slots(); ++worker) {
    leave(worker);
    lines_.be_absent(worker);
  }
}

void ParameterServer::lose_place(int worker) {
  if (members_.lose_place(worker)) deals_.leave(worker, progress_.worker(worker).samples);
}

/// Each worker learns of the deal with its next reply.
void ParameterServer::deal_if_due() {
  if (!deals_.is_due()) return;
  std::vector<DealBook::Taker> takers;
  for (int worker = 0; worker < members_.slots(); ++worker)
    takers.push_back({.is_member = members_.is_member(worker),
                      .awaits_reply = lines_.replies().awaits_reply(worker),
                      .batch = progress_.worker(worker).batch});
  deals_.deal(progress_.samples_by_worker(), takers);
}

/// A new worker in the slot of one that is gone, or in one for spares: it joins when nothing of that one is
/// left on either side.
void ParameterServer::on_joined(int worker, int incarnation) {
  members_.begin_join(worker);
  lines_.begin_join(worker, incarnation);
  // The last one may have ended by itself, before its machine departed.
  lose_place(worker);
  deals_.join(worker, progress_.worker(worker).samples);
  members_.take_place(worker);
  advance_join(worker, {});
}

/// `last`: the operation for which the join has waited.
void ParameterServer::advance_join(int worker, const Completion& last) {
  if (!lines_.advance_join(worker, last)) return;
  // The worker takes no samples before it learns of the deal.
  deal_if_due();
  members_.join(worker);
  welcome(worker);
}

/// The worker gets the state of the others.
void ParameterServer::welcome(int worker) {
  const bool is_awaited = members_.take_awaited(worker);
  updates_.make_room(worker);
  updates_.begin(worker, progress_.version());
  lines_.replies().begin_at(worker, progress_.version());
  progress_.begin_worker(worker);
  recorded_.begin(worker);
  members_.rescale();
  progress_.set_pushes_per_round(members_.pushes_per_round());
  lines_.listen(worker);
  const auto counted = progress_.samples_by_worker();
  lines_.welcome(worker, {.deals = static_cast<std::int32_t>(deals_.count_numbers(counted)),
                          .rounds = progress_.rounds(),
                          .samples = progress_.worker(worker).samples,
                          .steps = progress_.worker(worker).steps});
  if (deals_.deals()) lines_.send_deals(worker, deals_.take_all(worker, counted));
  key_ = lines_.begin_answer(worker);
  lines_.set_reply(worker, updates_.hand_out(worker, progress_.version()));
  lines_.reply(worker, note_of_reply({.worker = worker}));
  // The round waits for this slot already.
  if (is_awaited) return;
  decide(sync::Joined{now_of_policy(), worker, progress_.version_of_policy(progress_.version())});
}

/// The worker is absent from now on.
void ParameterServer::leave(int worker, bool drops, bool stays_awaited) {
  members_.leave(worker, stays_awaited);
  if (steward_) progress_.set_pushes_per_round(members_.pushes_per_round());
  if (!stays_awaited) decide_about_left(worker, drops);
  ask_for_end();
}

void ParameterServer::decide_about_left(int worker, bool drops) {
  const sync::Left event{now_of_policy(), worker, drops};
  for (key_ = 0; !is_last_key(); ++key_) decide_about_key(event);
  decide(event);
}

void ParameterServer::ask_for_end() {
  if (members_.takes_end(progress_.is_stopping())) notify_steward_of_end();
}

void ParameterServer::notify_steward_of_end() {
  Pending end = protocol::send<"ends-of-job">(context_, *steward_, protocol::End{});
  context_.wait(end);
}

}  // namespace tandem
