// Parts of `tandem run` that every launch uses, of one job or of several.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "cli/machines/cluster_use.hpp"
#include "cli/machines/machine_use.hpp"
#include "cli/machines/run_sbatch.hpp"
#include "cli/shared/job_options.hpp"
#include "runtime/launcher/launcher.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct RunOptions {
  JobOptions job;
  MachineOptions machines;
  bool check_only = false;  ///< of the machines
  RunSbatchOptions sbatch;
  bool print_command = false;
  double grace_s = 30.0;
  std::string cluster;  ///< platform file of the emulated cluster to run on; empty: no cluster
  bool alone = false;   ///< several jobs are also run alone
};

/// Errors: ConfigError for a run that would measure nothing.
void check_runnable(const Experiment& experiment);

/// With data.store mounted, makes cache nodes read the data set from its files, as without stores. Errors:
/// ConfigError.
void read_mounted_storage(Experiment& experiment);

/// After SIGTERM the job can commit its state and end by itself.
bool may_commit_on_request(const Job& job);

/// The same for jobs that are launched together, whose ranks follow each other; the document is in `out`.
LaunchSetting launch_setting(std::span<const Job> jobs, const RunOptions& options, const std::string& out);

/// The cluster to run on, if any. Errors: ConfigError when it is another platform's.
std::optional<ClusterUse> use_cluster(const RunOptions& options, const Experiment& experiment);
void note_cluster(LaunchSetting& setting, const ClusterUse& cluster);

/// After a launch that failed. After bad input that only a rank finds, removes a half-written result
/// directory. After any other error, marks the directory and adds that to `message`.
void leave_failed(const std::string& directory, int exit_code, std::string& message);

/// Launches a job and shows its progress. `where`: " on the machines"; `guards`, `kill`: may be empty.
GuardedResult launch_job(const LaunchSetting& setting, const std::string& name, const char* where,
                         std::unique_ptr<machines::Guards> guards,
                         const std::function<std::optional<PlannedKill>()>& kill);

}  // namespace tandem::cli
