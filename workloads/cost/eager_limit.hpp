// The eager limit of messages over TCP, the same in both worlds.
#pragma once

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// A message of at most this size is sent before its receive is posted: the launcher configures Open MPI like
/// this, and the simulator assumes it unless a calibration gives another limit. Open MPI's own limit over TCP
/// is 64 KiB; the rest of a longer message then moves only while sender and receiver both call MPI, which
/// they do not do while they compute. With that limit, no gradient exchange would overlap the backward pass,
/// and links would be idle between the pieces of a schedule: with pieces of 128 KiB, halving-doubling takes
/// 1.4 times as long.
inline constexpr Bytes tcp_eager_limit{4 << 20};

}  // namespace tandem
