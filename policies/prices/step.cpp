#include "policies/prices/step.hpp"

#include <algorithm>
#include <cmath>

namespace tandem::prices {

Seconds end_of_buckets(std::span<const Bucket> buckets, Seconds computed) {
  Seconds end{0.0};
  for (const Bucket& bucket : buckets) end = std::max(bucket.ready, end) + bucket.exchange;
  return std::max(end, computed);
}

double hits_of_kept(double held) { return std::clamp(held, 0.0, 1.0); }

double hits_of_lru(double held) {
  if (held >= 1.0) return 1.0;
  return held <= 0.0 ? 0.0 : held + (1.0 - held) * std::log1p(-held);
}

}  // namespace tandem::prices
