// What several jobs together asked of the cache nodes that they share (data.shared), and the most that their
// caches could have served.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

struct SharedCache {
  struct Use {
    std::string job = {};
    std::int64_t requests = 0, hits = 0;  ///< samples; a hit comes from a tier of the worker's node
    std::int64_t requested_bytes = 0, hit_bytes = 0;
    bool reads_ahead = false;            ///< samples were read before a batch waited for them
    std::optional<double> benefit = {};  ///< share of its step time that the cache saves, if it was measured
  };
  std::vector<Use> jobs;
  Bytes set{0};            ///< of all samples
  Bytes capacity{0};       ///< of all nodes, all tiers
  bool visits_all = true;  ///< every epoch of every job asks for each sample once

  /// Largest share of requested bytes that can hit, where caches begin empty. In each epoch of a job at least
  /// the bytes come from the store that no cache held when it began. So jobs with e_j epochs, whose caches
  /// hold the share c of the set, have at most 1 - (c + (1 - c) max e_j) / sum e_j; for n equally long jobs
  /// with many epochs, this is 1 - (1 - c) / n. Counts whole epochs. Pre: requests.
  double bound() const;
  /// Whether that bound holds: epochs visit all, and nothing is read ahead.
  bool has_bound() const;
};

/// `journal`: of one job.
SharedCache::Use use_of_cache(const std::string& job, const Journal& journal);

/// For summary.json. None where nothing was requested.
std::optional<SharedCacheSummary> shared_cache_summary(const SharedCache& cache);
/// The same in one line of text; empty where nothing was requested.
std::string shared_cache_text(const SharedCache& cache);

}  // namespace tandem
