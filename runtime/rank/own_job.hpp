// The job to which a rank belongs in a launch with several jobs. Each job has a communicator of the ranks
// that belong to it. Jobs may share cache nodes and stores (data.shared): these ranks belong to one of the
// jobs, and messages go through a communicator of all ranks.
#pragma once

#include <mpi.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/job/placement/job_ranks.hpp"

namespace tandem {

struct OwnJob {
  MPI_Comm communicator = MPI_COMM_WORLD;  ///< of the ranks that belong to the job
  Rank rank = 0;                           ///< of this process, in the job
  nlohmann::json document;                 ///< of the job
  std::string name = {};                   ///< empty: the launch has no other job
  std::vector<std::string> others = {};    ///< names of the other jobs of the launch
  bool is_first = true;                    ///< of the launch
  Seconds start{0};                        ///< when the job begins, after all ranks of the launch are ready
  std::size_t number = 0;                  ///< of the job in the launch
  /// The ranks of all jobs; none: there is one.
  std::optional<JobRanks> ranks = {};
  /// Documents of the other jobs that this rank serves, in the order of JobRanks::places.
  std::vector<nlohmann::json> served = {};
  std::vector<std::string> sharing = {};  ///< names of those that share cache nodes and stores with this job

  bool has_company() const { return !name.empty(); }
  bool shares() const { return ranks && ranks->any_shared(); }
  /// The communicator of the ranks that exchange messages.
  MPI_Comm messages() const { return shares() ? MPI_COMM_WORLD : communicator; }
  /// Reorders texts from ranks of `communicator`, or none, by rank of the job. Texts of ranks of other jobs
  /// are empty.
  std::vector<std::string> by_rank(std::vector<std::string> texts) const;
};

/// `document`: of a job, or {"jobs": [{"name", "start_s", "ranks", "document"}, ...]} of several, where
/// "ranks" has the rank in MPI_COMM_WORLD of each rank of the job (JobRanks::of). Collective. Errors:
/// ConfigError when mpirun started another number of ranks.
OwnJob find_own_job(nlohmann::json document);

/// Waits, without occupying a CPU core, until all ranks of the launch have called it. Collective.
void meet_other_jobs();
/// Returns when the job begins. Pre: all ranks of the launch have met.
void wait_for_start(const OwnJob& job);

}  // namespace tandem
