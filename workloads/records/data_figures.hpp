// How samples reached the workers of a job with cache nodes, from its records: by class and epoch, with the
// possible best. `data` of summary.json. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// False for rows of caches.csv that count other things than requests.
bool is_delivered(const CacheRecord& record);

/// Which samples were delivered in an epoch, over all cache nodes.
struct EpochCoverage {
  std::int64_t epoch = 0;
  std::int64_t set = 0;        ///< samples of the data set
  std::int64_t requested = 0;  ///< as many were delivered
  std::int64_t distinct = 0;   ///< different samples that were delivered
  std::int64_t omitted = 0;    ///< requests of a sample that was not delivered for them
  std::int64_t repeated = 0;   ///< deliveries of a sample beyond its requests
  double divergence = 0.0;     ///< of the deliveries of all samples from equal numbers, in nats
  /// Mean number of epochs since the visit that gave a sample the importance with which this epoch began,
  /// over the visited samples. None if importance does not come from visits.
  std::optional<double> importance_age = {};
};

/// The coverage of each epoch that the cache nodes recorded completely, in order, and of all of them
/// together, without the last one if only a part of it was requested.
struct Coverage {
  std::vector<EpochCoverage> epochs;
  std::optional<EpochCoverage> total = {};
};
Coverage coverage_of(const RunInfo& info, const Journal& journal);

/// Durations of the epochs that all workers trained on to the end: from the end of one to the end of the
/// next. Empty for jobs that started again, and if a worker departed.
std::vector<Seconds> epoch_times(const RunInfo& info, const Journal& journal);

/// An upper bound of the bytes that nodes can deliver from their own tiers, by the samples that were
/// requested. A sample that was not in a tier when the epoch began has to be brought there first.
struct LocalBound {
  double bytes = 0.0;
  bool one_visit = true;  ///< no node was asked for a sample twice in an epoch: capacity / bytes of requests
  /// What nodes deliver on average that do not know their next requests, if each epoch deals all samples to
  /// several nodes again: capacity / bytes of the data set. None otherwise.
  std::optional<double> oblivious = {};
};
/// The bound of the cold epoch, or of the later ones. None if it does not hold or is not known: with reads
/// in the background, and for epochs that were not recorded completely.
std::optional<LocalBound> local_bound(const RunInfo& info, const Journal& journal, bool is_cold);

/// Most bytes that nodes could have delivered from their own tiers, if they had known the order of all
/// requests (Belady's MIN), as they recorded it: of the cold epoch, or of the later ones.
struct OfflineOptimum {
  double bytes = 0.0;
  std::string missing = {};  ///< why it is not known; empty: it is
};
OfflineOptimum offline_optimum(const RunInfo& info, const Journal& journal, bool is_cold);

/// None for jobs without cache nodes.
std::optional<DataFigures> data_figures(const RunInfo& info, const Journal& journal);

}  // namespace tandem
