// The real machines of a job: from options, a file or a batch system's allocation.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/machines/check.hpp"
#include "runtime/machines/deal.hpp"
#include "runtime/machines/guards.hpp"
#include "runtime/machines/machines.hpp"
#include "runtime/machines/placement.hpp"
#include "runtime/machines/remote_shell.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct MachineOptions {
  std::string hosts;                 ///< "a:4,b:2"
  std::string hostfile;              ///< of Open MPI
  bool slurm = false;                ///< an allocation is required
  std::vector<std::string> mapping;  ///< as machines::parse_mapping
  std::string interface;
  std::string stage;          ///< folder of the machines to which the program is copied; empty: it is there
  double lost_after_s = 4.0;  ///< a machine that does not answer is lost; 0: never
};

/// Adds --hosts, --hostfile, --slurm, --interface and, where hosts of a platform are `mapped`, --map.
void add_machine_options(CLI::App& command, MachineOptions& options, bool mapped = true);

struct GuardedResult : LaunchResult {
  std::string lost_machine;      ///< machine that does not answer any more; empty: none
  std::vector<Rank> lost_ranks;  ///< ranks on it
};

/// Runs a job as `launch` does, on machines that are watched (`guards`: null: they are not). A setting
/// without a mark gets a new one.
GuardedResult launch_guarded(LaunchSetting setting, LaunchEvents events,
                             std::unique_ptr<machines::Guards> guards);

/// The options as words of a command line.
std::vector<std::string> words_of(const MachineOptions& options);

/// The machines on which a job runs.
class MachineUse {
 public:
  /// Without machines, the job runs on this machine alone. `takes_allocation`: an allocation of several
  /// nodes in the environment is used without an option. Errors: ConfigError.
  MachineUse(const MachineOptions& options, bool takes_allocation);

  bool is_used() const { return !machines_.empty(); }
  /// Gives hosts of the platform the GPUs of --map. With --map auto, asks all machines what they offer,
  /// assigns machines to the hosts that have none, and prints the mapping. Pre: devices and placement of the
  /// job are final. `least`: ranks, as in host_needs(). Errors: ConfigError for an unknown host, or hosts
  /// that do not fit; WorldError.
  void map_hosts(LoadedJob& loaded, int least = 0);
  /// Places the ranks. `ranks`: at least those of the job; 0: those of the job. Further ranks are placed
  /// with its last rank. Once the machines have been checked, a job with fewer workers uses only the
  /// machines that its ranks need. Errors: ConfigError with the table when ranks cannot be placed.
  void put_ranks(LaunchSetting& setting, const Job& job, int ranks = 0);
  /// Puts the same number of ranks on each machine: machine i of n has the ranks i, n + i and so on. Returns
  /// the machines.
  const std::vector<std::string>& put_on_each(LaunchSetting& setting, int ranks_each);
  /// Copies the program to the machines if that is requested. Pre: put_ranks was called.
  void stage(LaunchSetting& setting);
  /// Prints the table of all machines that have ranks. Pre: ranks were put there. Errors: ConfigError when
  /// one of them cannot take part.
  void check(const LaunchSetting& setting, const std::string& out);
  /// Prepares machines that do not see the result directory: copies the job's document to them, and the
  /// checkpoint from which the job resumes (null: none) where they do not see it. Pre: check was called.
  /// Errors: WorldError.
  void share_document(LaunchSetting& setting, const std::string& out, const ResumePoint* from);
  /// Watches the machines of the job from now on. With `out`, its result directory, checkpoints of machines
  /// that do not see it are brought there as soon as they are written. Pre: check was called, and
  /// share_document if there is an `out`.
  std::unique_ptr<machines::Guards> guard(LaunchSetting& setting, const std::string& out = {}) const;
  /// Copies here the files of machines that do not see the result directory, if rank 0 has not gathered
  /// them. `lost`: a machine that is not asked; its files are removed if a later call reaches it. Pre:
  /// share_document was called; the job has ended. Returns the reasons why files of a machine are missing.
  std::vector<std::string> fetch_results(const std::string& out, const std::string& lost = {});

 private:
  machines::RemoteShell shell() const;
  std::vector<machines::MachineOffer> ask_offers();
  void deal_hosts(const LoadedJob& loaded, int least);
  void note_shared_gpus(const LoadedJob& loaded) const;
  void note_several_networks() const;
  /// The beginning of the paths of the directories that machines use instead of the result directory.
  std::string prefix(const std::string& out) const;
  /// Whether ranks of the machine write into the result directory: they see it, and so does rank 0.
  bool writes_results(const machines::MachineState& state) const;

  MachineOptions options_;
  std::vector<machines::Machine> machines_;
  machines::Mapping mapping_;                    ///< --map; later with the hosts that were assigned
  std::string staged_;                           ///< the program on all machines; empty: not copied to all
  bool is_allocation_;                           ///< of a batch system
  std::vector<std::string> used_;                ///< machines with ranks, by their first rank
  std::vector<int> ranks_;                       ///< number of ranks of each of them
  std::vector<machines::MachineState> states_;   ///< of each of them, once checked
  std::vector<machines::MachineState> checked_;  ///< of all that were checked
  std::string parts_;  ///< name of the directories of machines that do not see the result directory
  std::vector<std::string> files_;  ///< files that each of them reads
  /// Machines that were lost, and the directories that they had then.
  std::vector<std::pair<std::string, std::string>> left_behind_;
};

}  // namespace tandem::cli
