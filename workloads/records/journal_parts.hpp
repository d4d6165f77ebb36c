// A journal in parts: the additions since the last part, and a whole journal put together from parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

class JournalParts {
 public:
  /// `journal`: must outlive it, and only grow.
  explicit JournalParts(const Journal& journal) : journal_(journal) {}

  /// The additions since the last call: new rows, and differences of counts.
  Journal take();

 private:
  const Journal& journal_;
  std::vector<std::size_t> taken_;          ///< rows of each list, in the order of visit_lists
  std::vector<StalenessRecord> staleness_;  ///< these rows are counts, which change; so are the next
  std::vector<CacheRecord> caches_;
  std::vector<std::int64_t> counts_;  ///< figures that add up, in the order of visit_figures
};

/// Adds up the rows of one rank and key that several parts have.
void add_counts(Journal& journal);
/// Moves all times on the clock by `by`.
void shift_times(Journal& journal, Seconds by);

}  // namespace tandem
