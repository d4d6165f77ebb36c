// A run on several machines as a job of Slurm.
#pragma once

#include <optional>
#include <string>

#include "cli/machines/machine_use.hpp"
#include "cli/machines/sbatch.hpp"
#include "cli/shared/job_options.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct RunSbatchOptions {
  SbatchOptions sbatch;
  std::optional<int> gpus;  ///< of a node; none: as many as its hosts use
  std::optional<int> cpus;  ///< of a node: limit of its ranks with --map auto; none: any number
  double grace_s = 0.0;     ///< see --grace; 0: no time for a commit before the end
};

/// The script. Machines of --map are names for nodes of the allocation. A host without an entry there is on
/// the node of its address (tandem:address) or its own name. With --map auto, the fewest nodes that have
/// room for all. Errors: ConfigError.
std::string run_script(const Job& job, const JobOptions& job_options, const MachineOptions& machines,
                       const RunSbatchOptions& options, const std::string& out);

}  // namespace tandem::cli
