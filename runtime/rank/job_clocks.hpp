// The clocks of a job on several machines. They are compared before and after the job, so that all records
// have the time of rank 0.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/mpi/clock_comparison.hpp"
#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class JobClocks {
 public:
  /// The first comparison, unless all ranks are on one machine. Collective. Errors: WorldError.
  explicit JobClocks(MPI_Comm communicator);

  /// The second comparison, after the job. Rank 0 returns, by rank, how to convert a moment of the rank's
  /// context to one of rank 0's. The others return nothing; so does rank 0 when all ranks are on one
  /// machine. Collective. Errors: WorldError.
  std::vector<ClockLine> finish(const MpiContext& context);

 private:
  MPI_Comm communicator_;
  MachineRanks machine_;
  std::optional<ClockReading> before_;  ///< none: one machine
};

/// Converts the moments of a rank's records. `lines`: of all ranks. `writer`: the rank that writes
/// checkpoints.
void use_clock_of_rank_0(Journal& journal, const std::vector<ClockLine>& lines, Rank rank, Rank writer);

/// For run.json: offset, drift and uncertainty of each rank's machine. "uncertainty_s" is the largest
/// uncertainty between moments on two machines. `machines`: names, by rank.
nlohmann::json describe_clocks(const std::vector<ClockLine>& lines, const std::vector<std::string>& machines);

}  // namespace tandem
