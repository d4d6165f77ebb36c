#include "policies/prices/step.hpp"

#include <algorithm>

namespace tandem::prices {

Seconds end_of_buckets(std::span<const Bucket> buckets, Seconds computed) {
  Seconds free{0.0}, end = computed;
  for (const Bucket& bucket : buckets) {
    const Seconds start = std::max(bucket.ready, free);
    free = start + bucket.busy.value_or(bucket.exchange);
    end = std::max(end, start + bucket.exchange + bucket.latency);
  }
  return end;
}

}  // namespace tandem::prices
