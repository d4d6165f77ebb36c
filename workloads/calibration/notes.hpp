// The notes that ranks send each other during a calibration. Plain data.
#pragma once

#include <cstdint>

#include "policies/vocabulary/units.hpp"
#include "workloads/protocol.hpp"

namespace tandem::protocol {

/// A time on the sender's clock.
struct Clock {
  static constexpr Kind kind = Kind::clock;
  Seconds time{};
};

/// A message of this size follows.
struct Announcement {
  static constexpr Kind kind = Kind::announcement;
  Bytes size{0};
};

/// The receiver exchanges this many messages with the sender; 0: no more.
struct Traffic {
  static constexpr Kind kind = Kind::traffic;
  std::int32_t messages = 0;
  Bytes size{0};
};

}  // namespace tandem::protocol
