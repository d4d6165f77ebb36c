// When, by a rank's clock, its device reached a mark: a device tells times between marks only, and the rank
// learns late that one was reached.
#pragma once

#include <algorithm>

#include "runtime/device_copies.hpp"

namespace tandem {

/// `device` must outlive it.
class DeviceClock {
 public:
  explicit DeviceClock(ComputeDevice& device) : device_(device) {}

  /// `known`: when the rank learned that the device had reached the mark. Whatever mark it learned of soonest
  /// tells the others' times too; a fresh one does so now and then, because the clocks drift apart.
  Seconds time_of(const SharedMark& mark, Seconds known) {
    if (!base_ || known - renewed_ > renewed_after) {
      base_ = mark;
      base_time_ = renewed_ = known;
      return known;
    }
    const Seconds since = device_.between(*base_, *mark);
    base_time_ = std::min(base_time_, known - since);
    return base_time_ + since;
  }

 private:
  static constexpr Seconds renewed_after{10.0};

  ComputeDevice& device_;
  SharedMark base_;
  Seconds base_time_;
  Seconds renewed_;
};

}  // namespace tandem
