// Which job a rank belongs to where one launch has several: each has a communicator of its own, in which its
// ranks are counted from 0.
#pragma once

#include <mpi.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

struct OwnJob {
  MPI_Comm communicator = MPI_COMM_WORLD;
  nlohmann::json document;               ///< of the job
  std::string name = {};                 ///< empty: the launch has no other job
  std::vector<std::string> others = {};  ///< names of the other jobs of the launch
  bool is_first = true;                  ///< of the launch
  Seconds start{0};                      ///< when it begins, after all ranks of the launch are ready

  bool has_company() const { return !name.empty(); }
};

/// `document`: of a job, or {"jobs": [{"name", "start_s", "ranks", "document"}, ...]} of several, whose ranks
/// follow each other in MPI_COMM_WORLD. Collective. Errors: ConfigError when mpirun started another number
/// of ranks.
OwnJob find_own_job(nlohmann::json document);

/// Waits until all ranks of the launch are here, without occupying a CPU core. Collective.
void meet_other_jobs();
/// The same, and then until the job begins.
void wait_for_start(const OwnJob& job);

}  // namespace tandem
