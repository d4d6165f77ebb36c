#include "sim/rank_device.hpp"

#include <algorithm>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "sim/rank_context.hpp"
#include "sim/world.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

RankDevice::RankDevice(World& world, RankContext& rank, RankOperations& operations)
    : world_(world),
      rank_(rank),
      operations_(operations),
      // A device works on one thing at a time, whatever the number of cores of the machine around it.
      cores_(rank.host().get_property("device") != nullptr ? rank.host().get_core_count() : 1),
      has_second_queue_(world.setting().has_second_queue && world.setting().has_second_queue(rank.rank())) {}

RankOperation& RankDevice::compute(const Work& work) {
  const double alone_s = world_.setting().price(rank_.rank(), work).count();
  TANDEM_CHECK(alone_s >= 0, "price", alone_s, "rank", rank_.rank());
  if (work.concurrent && !is_stated_of_server(work)) return timed_work(alone_s);
  if (has_second_queue_ && is_of_finished_bucket(work)) {
    const double now_s = rank_.now().count();
    second_queue_free_s_ = std::max(now_s, second_queue_free_s_) + alone_s;
    return timed_work(second_queue_free_s_ - now_s);
  }
  RankOperation& operation = operations_.make(RankOperation::Kind::compute);
  if (alone_s == 0) return operations_.done_at_once(operation);
  operation.amount = alone_s * rank_.host().get_speed();
  operation.cores = is_stated_of_server(work) ? 1 : cores_;
  operation.is_concurrent = work.concurrent;
  operation.slowdown = world_.slows_down() ? world_.setting().slowdown(rank_.rank(), work) : 1.0;
  TANDEM_CHECK(operation.slowdown >= 1, "slowdown", operation.slowdown, "rank", rank_.rank());
  return operation;
}

/// Work that neither delays the first queue of the device nor is delayed by it.
RankOperation& RankDevice::timed_work(double duration_s) {
  RankOperation& operation = operations_.make_sleep(Seconds(duration_s));
  operation.is_work = true;
  return operation;
}

// The activity is reused, like those of messages and disks (rank_disks.cpp).

void RankDevice::start(RankOperation& compute) {
  if (!compute.is_concurrent) {
    if (computing_ != nullptr) return waiting_.push_back(&compute);
    computing_ = &compute;
    note_overlap();
  }
  if (!compute.exec || compute.exec_cores != compute.cores) {
    compute.exec = s4u::Exec::init();
    compute.exec->set_host(&rank_.host());
    if (compute.cores > 1) compute.exec->set_thread_count(compute.cores);
    compute.exec->set_data(static_cast<Finishable*>(&compute));
    compute.exec_cores = compute.cores;
  }
  compute.exec->set_state(s4u::Activity::State::STARTING);
  const bool is_slowed = messages_in_flight_ > 0 && !compute.is_concurrent;
  compute.exec->set_flops_amount(compute.amount * (is_slowed ? compute.slowdown : 1.0));
  compute.exec->start();
  if (compute.is_concurrent) return;
  if (compute.slowdown > 1 || world_.setting().stops_work) action_ = started_action(compute);
}

/// Null when it failed immediately.
simgrid::kernel::resource::Action* RankDevice::started_action(const RankOperation& operation) const {
  auto& started = *world_.cpu_model().get_started_action_set();
  if (started.empty() || started.back().get_activity() != operation.exec->get_impl()) return nullptr;
  return &started.back();
}

void RankDevice::message_set_out() {
  if (!world_.counts_messages() || messages_in_flight_++ > 0) return;
  if (action_ != nullptr) stretch(computing_->slowdown);
  note_overlap();
}

void RankDevice::message_over() {
  if (!world_.counts_messages() || --messages_in_flight_ > 0) return;
  if (action_ != nullptr) stretch(1.0 / computing_->slowdown);
  note_overlap();
}

void RankDevice::note_overlap() {
  if (!world_.setting().measures_overlap) return;
  const bool overlaps = computing_ != nullptr && messages_in_flight_ > 0;
  if (overlaps == overlap_began_s_.has_value()) return;
  const double now_s = s4u::Engine::get_clock();
  if (!overlaps) overlap_s_ += now_s - *overlap_began_s_;
  overlap_began_s_ = overlaps ? std::optional(now_s) : std::nullopt;
}

/// From now on, the rest of the current work on the device takes `factor` times as long. The amount of work
/// changes, not its speed, so that this is correct for ranks that share a device too.
void RankDevice::stretch(double factor) {
  if (factor == 1.0) return;
  // It may have ended at this same simulated time.
  if (action_->get_state() != simgrid::kernel::resource::Action::State::STARTED) return;
  // Suspending updates the remaining amount, and resuming makes SimGrid compute the new end.
  action_->suspend();
  action_->set_remains(action_->get_remains_no_update() * factor);
  action_->resume();
}

void RankDevice::clear_second_queue() { second_queue_free_s_ = rank_.now().count(); }

bool RankDevice::stop(RankOperation& work) {
  if (computing_ != &work) {
    std::erase(waiting_, &work);
    return false;
  }
  if (action_ == nullptr) return true;
  work.outcome = Outcome::cancelled;
  // Without a rest of the work, SimGrid ends it now.
  simgrid::kernel::actor::simcall_answered([this] { stretch(0.0); });
  return true;
}

void RankDevice::finish(const RankOperation& operation, bool succeeded) {
  if (computing_ != &operation) return;
  action_ = nullptr;
  if (succeeded) start_next();
}

void RankDevice::start_next() {
  computing_ = nullptr;
  note_overlap();
  if (waiting_.empty()) return;
  RankOperation& next = *waiting_.front();
  waiting_.pop_front();
  start(next);
}

}  // namespace tandem::sim
