// `tandem cache --epochs`: training jobs instead of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::cli {

struct CacheTraining {
  std::string data_set;  ///< "50000" or "50000:110000": samples, and bytes of each
  std::string sampler;
  std::string policies;  ///< names, or "all"
  std::string sizes;
  std::vector<std::string> settings;  ///< "icache.split=0.8", "importance.beta=1"
  std::string csv;                    ///< also written as a table; empty: not
  std::string report;                 ///< folder of a report; empty: none
  std::string losses;                 ///< losses.csv of a run; empty: modelled
  std::uint64_t seed = 1;
  std::int64_t epochs = 0;
  int batch = 64;           ///< samples per node and step
  int nodes = 1;            ///< number of nodes; each has a cache, and one worker of each job
  int jobs = 1;             ///< number of jobs that train concurrently on the same caches
  double background = 2.0;  ///< batches that a node may read ahead after each step
};

/// Replays the jobs on each policy and size, prints how many samples were read from where, and writes this
/// to the requested files. Errors: ConfigError; WorldError when a file cannot be written.
void simulate_training(const CacheTraining& training);

}  // namespace tandem::cli
