// The emulated device of a rank, which does one operation after the other, and the delays of its transfers
// from and to emulated disks. Each operation ends at a deadline. Arithmetic on times that the caller reads
// from its clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One queue of an emulated device. A kernel that takes longer than its emulated time delays the operations
/// after it. Operations that follow without a pause are then shortened, until the delay is compensated.
class EmulatedUnit {
 public:
  /// A kernel begins.
  void begin(Seconds now);
  /// The kernel has ended. Returns the time at which the emulated unit ends the operation.
  Seconds end(Seconds began, Seconds now, Seconds duration);
  /// From now on its work takes `factor` times as long, also the rest of the operation in progress.
  void set_slowdown(Seconds now, double factor);
  double slowdown() const { return slowdown_; }
  /// Its operations are given up; it is free from now on.
  void stop(Seconds now) { free_at_ = std::min(free_at_, now); }
  /// How often the unit became idle later than it should have.
  std::int64_t missed_deadlines() const { return missed_ + (is_late() ? 1 : 0); }

 private:
  bool is_late() const;

  double slowdown_ = 1.0;
  Seconds free_at_;
  Seconds behind_;  ///< how late that is, since the unit last paused
  std::int64_t missed_ = 0;
};

/// Delays of the transfers of one rank from and to one emulated disk, because the real ones take longer.
/// Accesses that follow a late one without a pause arrive at the disk as if it had ended in time.
class TransferDelays {
 public:
  /// When an access that starts now arrives at the emulated disk.
  Seconds arrival(Seconds now);
  /// A transfer whose emulated end is `due` has ended at `now`. Transfers that overlap may be noted in any
  /// order.
  void end(Seconds due, Seconds now);
  /// How often the rank had to wait for the real disk.
  std::int64_t missed_deadlines() const;

 private:
  Seconds due_;     ///< when the last transfer should have ended
  Seconds moved_;   ///< when the last real transfer had ended
  Seconds ended_;   ///< when the last transfer ended, in fact
  Seconds behind_;  ///< how late that was
  std::int64_t missed_ = 0;
};

/// The units of one rank. Each queue of the device, its concurrent work, and the processor that launches its
/// steps have a unit each.
class EmulatedUnits {
 public:
  EmulatedUnit& device() { return device_; }
  EmulatedUnit& second_queue() { return second_queue_; }
  EmulatedUnit& concurrent_device() { return concurrent_device_; }
  EmulatedUnit& launching() { return launching_; }
  void stop_devices(Seconds now) {
    for (EmulatedUnit* unit : {&device_, &second_queue_, &concurrent_device_, &launching_}) unit->stop(now);
  }
  TransferDelays& disk(int number) { return disks_[number]; }
  std::int64_t missed_deadlines() const;

 private:
  EmulatedUnit device_;
  EmulatedUnit second_queue_;
  EmulatedUnit concurrent_device_;
  EmulatedUnit launching_;
  std::unordered_map<int, TransferDelays> disks_;
};

}  // namespace tandem
