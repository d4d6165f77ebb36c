// A rank in a launch whose jobs share cache nodes and stores: the jobs for which it runs a role, and the
// records of a job whose ranks belong to several.
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
  std::size_t job = 0;  ///< number of the job to which it belongs
  Seconds start{0};     ///< of that job, by the common clock
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
/// The records of the rank's own job. `end`: of this rank, by the common clock. Collective over all ranks of
/// the launch.
SharedRecords gather_records(const SharedLaunch& launch, std::span<const Journal> journals, Seconds end);

}  // namespace tandem
