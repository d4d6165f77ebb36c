// The emulated device and disks of a rank: each does one operation after the other, and an operation ends at
// a deadline. Arithmetic on times that the caller reads from its clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One emulated device or disk. A kernel that takes longer than its emulated time delays the operations after
/// it; operations that follow without a pause are shortened until the delay is made up.
class EmulatedUnit {
 public:
  /// A kernel begins.
  void begin(Seconds now);
  /// The kernel has ended. Returns the time at which the emulated unit ends the operation.
  Seconds end(Seconds began, Seconds now, Seconds duration);
  /// Its operations are given up; it is free from now on.
  void stop(Seconds now) { free_at_ = std::min(free_at_, now); }
  /// How often the unit became idle later than it should have.
  std::int64_t missed_deadlines() const { return missed_ + (is_late() ? 1 : 0); }

 private:
  bool is_late() const;

  Seconds free_at_;
  Seconds behind_;  ///< how much later that is than it should be, since the unit last paused
  std::int64_t missed_ = 0;
};

/// The units of one rank. Concurrent work of the device has its own unit.
class EmulatedUnits {
 public:
  EmulatedUnit& device(bool concurrent) { return concurrent ? concurrent_device_ : device_; }
  void stop_devices(Seconds now) {
    device_.stop(now);
    concurrent_device_.stop(now);
  }
  EmulatedUnit& disk(int number) { return disks_[number]; }
  std::int64_t missed_deadlines() const;

 private:
  EmulatedUnit device_;
  EmulatedUnit concurrent_device_;
  std::unordered_map<int, EmulatedUnit> disks_;
};

}  // namespace tandem
