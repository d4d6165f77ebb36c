// Figures of caches.csv for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/records/cache_rows.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/records.hpp"

namespace tandem::testing {

/// The sum over the rows from a place ("tier0", "store"; empty: from all), and of one epoch if it is given.
inline CacheRecord cache_sum(const Journal& journal, const std::string& from,
                             std::optional<std::int64_t> epoch = {}) {
  CacheRecord sum{.from = from};
  for (const CacheRecord& record : journal.caches) {
    if (from.empty() ? is_estimate(record.from) : record.from != from) continue;
    if (epoch && record.epoch != *epoch) continue;
    sum.samples += record.samples;
    sum.bytes += record.bytes;
    sum.blocked += record.blocked;
    sum.reading += record.reading;
  }
  return sum;
}

/// Samples that caches and stores have delivered to workers.
inline std::int64_t delivered(const Journal& journal) {
  std::int64_t samples = 0;
  for (const CacheRecord& record : journal.caches)
    if (is_delivered(record)) samples += record.samples;
  return samples;
}
/// Samples of all steps that are recorded.
inline std::int64_t trained(const Journal& journal) {
  std::int64_t samples = 0;
  for (const StepRecord& step : journal.steps) samples += step.samples;
  return samples;
}

}  // namespace tandem::testing
