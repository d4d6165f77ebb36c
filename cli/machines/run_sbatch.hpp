// A run on several machines as a job of Slurm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/machines/machine_use.hpp"
#include "cli/machines/sbatch.hpp"
#include "cli/shared/job_options.hpp"
#include "runtime/machines/placement.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct RunSbatchOptions {
  SbatchOptions sbatch;
  std::optional<int> gpus;                ///< of a node; none: as many as its hosts use
  std::optional<int> cpus;                ///< of a node: limit of its ranks with --map auto; none: any number
  double grace_s = 0.0;                   ///< see --grace; 0: no time for a commit before the end
  std::vector<std::string> remarks = {};  ///< comments of the script, a line each
};

/// A node of the allocation, under the name that --map gives it.
struct ScriptNode {
  std::string name;
  int ranks = 0;
  int gpus = 0;  ///< those with these numbers are used
  std::vector<machines::Mapped> hosts = {};
};

/// The nodes of a job, by the first ranks of their hosts. `entries`: of --map, as below. Errors: ConfigError.
std::vector<ScriptNode> nodes_of(const Job& job, const std::vector<std::string>& entries,
                                 const RunSbatchOptions& options);
/// For bash: options --map, a line each, which place the hosts of each node on an element of the array
/// `nodes`.
std::string map_lines(const std::vector<ScriptNode>& nodes);
/// For bash: resumes the job from the newest of the results $out, $out.1 ... before $out.$restart that has a
/// checkpoint, else begins it, with the array `machines` as further options. `words`: of the job that begins;
/// `more`: options of both.
std::string resuming_run(const std::string& program, const std::string& words, const std::string& more);

/// The script. Machines of --map are names for nodes of the allocation. A host without an entry there is on
/// the node of its address (tandem:address), else of its machine (tandem:machine, by default itself). With
/// --map auto, the fewest nodes that have room for all. Errors: ConfigError.
std::string run_script(const Job& job, const JobOptions& job_options, const MachineOptions& machines,
                       const RunSbatchOptions& options, const std::string& out);

}  // namespace tandem::cli
