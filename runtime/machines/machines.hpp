// The machines of a real cluster, as a user or a batch system lists them. Pure, but for reading a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tandem::machines {

struct Machine {
  std::string name;               ///< as ssh knows it
  std::optional<int> slots = {};  ///< ranks that it takes at most; none: any number
  std::optional<int> gpus = {};   ///< that the batch system gives to the job; none: all that it has
  bool operator==(const Machine&) const = default;
};

/// "a:4,b,10.0.0.7:2", or "gpu[01-04]:8" as in names_in. Errors: ConfigError for a machine that is listed
/// twice, or slots that are no number.
std::vector<Machine> parse_host_list(const std::string& text);
/// A hostfile of Open MPI: a machine per line, "a slots=4"; # begins a comment.
/// Errors: ConfigError with file and line.
std::vector<Machine> read_hostfile(const std::string& path);

/// The nodes of a Slurm allocation: "n[1-3,07],m" of SLURM_JOB_NODELIST, "2(x3),1" of SLURM_TASKS_PER_NODE,
/// and "4" or "h200:4" of SLURM_GPUS_PER_NODE, which may both be empty. Errors: ConfigError.
std::vector<Machine> slurm_machines(const std::string& nodes, const std::string& tasks,
                                    const std::string& gpus = "");
/// The allocation that the environment describes; none: there is none. Errors: as slurm_machines.
std::optional<std::vector<Machine>> allocation_of_environment();

}  // namespace tandem::machines
