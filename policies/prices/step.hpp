// The time of one step of a worker whose gradients leave in buckets while the rest is computed.
#pragma once

#include <optional>
#include <span>

#include "policies/vocabulary/units.hpp"

namespace tandem::prices {

struct Bucket {
  Seconds ready;     ///< when its gradients are computed, since the step began
  Seconds exchange;  ///< of the bucket alone, without latency
  Seconds latency{0.0};
  std::optional<Seconds> busy = {};  ///< of the exchange, for which the next bucket waits; none: all of it
};

/// When the last bucket has been exchanged, one after the other, where latencies pass while others move; but
/// not before `computed`. Exact if computation and exchange do not slow each other down.
Seconds end_of_buckets(std::span<const Bucket> buckets, Seconds computed);

}  // namespace tandem::prices
