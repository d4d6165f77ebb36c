// The eager limit of messages over TCP, the same in both worlds.
#pragma once

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// A message of at most this size leaves before its receive is posted: the launcher sets Open MPI so, and the
/// simulator takes it so where no calibration says otherwise. Open MPI's own limit over TCP is 64 KiB; the
/// rest of a longer message then moves only when sender and receiver both look, which they do not while they
/// compute. That hides no gradient behind the backward pass, and lets links idle between the pieces of a
/// schedule: with 128 KiB pieces halving-doubling takes 1.4 times as long.
inline constexpr Bytes tcp_eager_limit{4 << 20};

}  // namespace tandem
