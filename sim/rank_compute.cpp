// The work of one simulated rank: one operation after the other on its device, slower while messages of the
// rank are in flight; sums in the second queue of a device that has one; and concurrent work.
#include <algorithm>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

Pending RankContext::compute(const Work& work, Kernel kernel) {
  if (kernel) kernel();
  const double alone_s = world_.setting().price(rank_, work).count();
  TANDEM_CHECK(alone_s >= 0, "price", alone_s, "rank", rank_);
  if (work.concurrent) return timed_work(alone_s);
  if (has_second_queue_ && is_of_finished_bucket(work)) {
    second_queue_free_s_ = std::max(now().count(), second_queue_free_s_) + alone_s;
    return timed_work(second_queue_free_s_ - now().count());
  }
  Operation& operation = new_operation(Kind::compute);
  if (alone_s == 0) return done_at_once(operation);
  operation.amount = alone_s * host_.get_speed();
  operation.slowdown = world_.slows_down() ? world_.setting().slowdown(rank_, work) : 1.0;
  TANDEM_CHECK(operation.slowdown >= 1, "slowdown", operation.slowdown, "rank", rank_);
  return started(operation);
}

/// Work that neither delays the first queue of the device nor is delayed by it.
Pending RankContext::timed_work(double duration_s) {
  Pending pending = sleep(Seconds(duration_s));
  operation(pending.slot()).is_work = true;
  return pending;
}

// The activity is reused, like those of messages and disks (rank_context.cpp).

void RankContext::start_compute(Operation& operation) {
  if (computing_ != nullptr) return computes_waiting_.push_back(&operation);
  computing_ = &operation;
  note_overlap();
  if (!operation.exec) {
    operation.exec = s4u::Exec::init();
    operation.exec->set_host(&host_);
    if (cores_for_compute_ > 1) operation.exec->set_thread_count(cores_for_compute_);
    operation.exec->set_data(static_cast<Finishable*>(&operation));
  }
  operation.exec->set_state(s4u::Activity::State::STARTING);
  const double slowdown = messages_in_flight_ > 0 ? operation.slowdown : 1.0;
  operation.exec->set_flops_amount(operation.amount * slowdown);
  operation.exec->start();
  if (operation.slowdown > 1 || world_.setting().stops_work) action_ = started_action(operation);
}

/// Null when it failed immediately.
simgrid::kernel::resource::Action* RankContext::started_action(const Operation& operation) const {
  auto& started = *world_.cpu_model().get_started_action_set();
  if (started.empty() || started.back().get_activity() != operation.exec->get_impl()) return nullptr;
  return &started.back();
}

void RankContext::message_set_out() {
  if (!world_.counts_messages() || messages_in_flight_++ > 0) return;
  if (action_ != nullptr) stretch_compute(computing_->slowdown);
  note_overlap();
}

void RankContext::message_over() {
  if (!world_.counts_messages() || --messages_in_flight_ > 0) return;
  if (action_ != nullptr) stretch_compute(1.0 / computing_->slowdown);
  note_overlap();
}

void RankContext::note_overlap() {
  if (!world_.setting().measures_overlap) return;
  const bool overlaps = computing_ != nullptr && messages_in_flight_ > 0;
  if (overlaps == overlap_began_s_.has_value()) return;
  const double now_s = s4u::Engine::get_clock();
  if (!overlaps) overlap_s_ += now_s - *overlap_began_s_;
  overlap_began_s_ = overlaps ? std::optional(now_s) : std::nullopt;
}

/// From now on, the rest of the current work on the device takes `factor` times as long. The amount of work
/// changes, not its speed, so that this is correct for ranks that share a device too.
void RankContext::stretch_compute(double factor) {
  if (factor == 1.0) return;
  // It may have ended at this same simulated time.
  if (action_->get_state() != simgrid::kernel::resource::Action::State::STARTED) return;
  // Suspending updates the remaining amount, and resuming makes SimGrid compute the new end.
  action_->suspend();
  action_->set_remains(action_->get_remains_no_update() * factor);
  action_->resume();
}

void RankContext::stop_work() {
  TANDEM_CHECK(world_.setting().stops_work, "the simulation was not set up for it; rank", rank_);
  second_queue_free_s_ = now().count();
  for (const auto& operation : operations_) {
    const bool is_work = operation->kind == Kind::compute || operation->is_work;
    if (operation->state == State::pending && is_work) stop(*operation);
  }
}

void RankContext::stop(Operation& work) {
  if (computing_ != &work) {
    std::erase(to_start_, &work);
    std::erase(computes_waiting_, &work);
    return end_early(work, Outcome::cancelled);
  }
  if (action_ == nullptr) return;
  work.outcome = Outcome::cancelled;
  // Without a rest of the work, SimGrid ends it now.
  simgrid::kernel::actor::simcall_answered([this] { stretch_compute(0.0); });
}

void RankContext::start_next_compute() {
  computing_ = nullptr;
  note_overlap();
  if (computes_waiting_.empty()) return;
  Operation& next = *computes_waiting_.front();
  computes_waiting_.pop_front();
  start_compute(next);
}

}  // namespace tandem::sim
