#include "policies/prices/step.hpp"

#include <algorithm>
#include <cmath>

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

double hits_of_kept(double held) { return std::clamp(held, 0.0, 1.0); }

double hits_of_lru(double held) {
  if (held >= 1.0) return 1.0;
  return held <= 0.0 ? 0.0 : held + (1.0 - held) * std::log1p(-held);
}

}  // namespace tandem::prices
