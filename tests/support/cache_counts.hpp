// Figures of caches.csv for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/records/cache_rows.hpp"
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

}  // namespace tandem::testing
