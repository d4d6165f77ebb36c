// The emulated device and disks of a rank: each does one piece of work after the other, and a piece ends at a
// deadline. Arithmetic on times that the caller reads from its clock.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// One emulated device or disk. A kernel that takes longer than its emulated time delays the work behind it;
/// work that follows without a pause makes up for the delay.
class EmulatedUnit {
 public:
  /// A kernel begins.
  void begin(Seconds now);
  /// It has ended. Returns when the emulated unit ends the work.
  Seconds end(Seconds began, Seconds now, Seconds duration);
  /// Times that the unit paused later than it should have.
  std::int64_t missed_deadlines() const { return missed_ + (is_late() ? 1 : 0); }

 private:
  bool is_late() const;

  Seconds free_at_;
  Seconds behind_;  ///< how much later that is than it should be, since the unit last paused
  std::int64_t missed_ = 0;
};

/// Of one rank. The device's concurrent work is done by a unit of its own.
class EmulatedUnits {
 public:
  EmulatedUnit& device(bool concurrent) { return concurrent ? concurrent_device_ : device_; }
  EmulatedUnit& disk(int number) { return disks_[number]; }
  std::int64_t missed_deadlines() const;

 private:
  EmulatedUnit device_;
  EmulatedUnit concurrent_device_;
  std::unordered_map<int, EmulatedUnit> disks_;
};

}  // namespace tandem
