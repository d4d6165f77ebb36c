// A rank in a launch whose jobs share cache nodes and stores: which role it runs for which jobs, and how the
// records of a job come together whose ranks belong to several.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

struct SharedLaunch {
  const JobRanks& ranks;
  Rank rank = 0;        ///< in MPI_COMM_WORLD
  std::size_t job = 0;  ///< to which it belongs
  Seconds start{0};     ///< of that, by the clock of all
  /// The jobs that the rank serves, in the order of JobRanks::places.
  std::vector<const Job*> served = {};
};

/// Runs the role to its end. `context`: counts ranks as JobRanks::addresses. `journals`: of each job that the
/// rank serves. With `operations`, these are recorded.
void run_role_of(const SharedLaunch& launch, Context& context, std::span<Journal> journals, bool operations);

struct SharedRecords {
  Journal journal;  ///< of all ranks of the job, on its rank 0; else empty
  Seconds makespan{0};
};
/// Of the rank's own job. `end`: of this rank, by the clock of all. Collective over all ranks of the launch.
SharedRecords gather_records(const SharedLaunch& launch, std::span<const Journal> journals, Seconds end);

}  // namespace tandem
