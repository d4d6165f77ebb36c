// The time by a rank's clock at which its device reached a mark. A device reports only the time between two
// marks, and the rank notices a mark after the device has reached it.
#pragma once

#include <algorithm>
#include <utility>

#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// For one device, which must outlive it.
class DeviceClock {
 public:
  /// `known`: when the rank noticed that the device had reached the mark. The mark with the shortest delay
  /// before it was noticed is the reference for the others. It is replaced from time to time, because the
  /// clocks drift apart.
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
