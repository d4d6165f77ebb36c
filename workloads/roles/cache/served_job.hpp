// A job that a cache node or store serves: its own one, or one of several with data.shared.
#pragma once

#include <algorithm>
#include <span>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/sample_reads.hpp"

namespace tandem {

struct ServedJob {
  const Job* job = nullptr;
  Journal* journal = nullptr;  ///< for the records of this rank about the job
  Rank first = 0;              ///< the job's rank 0, as the context of this rank counts
};

/// Most samples of one read for any of the jobs.
inline std::size_t most_samples_of_read(std::span<const ServedJob> jobs) {
  std::size_t most = 0;
  for (const ServedJob& served : jobs) most = std::max(most, most_samples_of_read(served.job->data()));
  return most;
}

}  // namespace tandem
