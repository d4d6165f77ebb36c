// When, by a rank's clock, its device reached a mark: a device tells times between marks only, and the rank
// learns late that one was reached.
#pragma once

#include <algorithm>
#include <utility>

#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Of one device, which must outlive it.
class DeviceClock {
 public:
  /// `known`: when the rank learned that the device had reached the mark. Whatever mark it learned of soonest
  /// tells the others' times too; a fresh one does so now and then, because the clocks drift apart.
  Seconds time_of(OwnedMark mark, Seconds known) {
    if (!base_ || known - renewed_ > renewed_after) {
      base_ = std::move(mark);
      base_time_ = renewed_ = known;
      return known;
    }
    const Seconds since = mark.since(base_);
    base_time_ = std::min(base_time_, known - since);
    return base_time_ + since;
  }

 private:
  static constexpr Seconds renewed_after{10.0};

  OwnedMark base_;
  Seconds base_time_;
  Seconds renewed_;
};

}  // namespace tandem
