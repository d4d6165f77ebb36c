// Starts a program on several ranks through mpirun, watches it and leaves no process behind. The `tandem`
// command links this together with SimGrid, so it may not use MPI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/launcher/mpirun_errors.hpp"
#include "runtime/launcher/rank_lines.hpp"

namespace tandem {

/// How mpirun reaches the hosts of an emulated cluster; see runtime/cluster/cluster.hpp.
struct ClusterLaunch {
  std::string enter;            ///< program for sh: HOST COMMAND... runs the command on that host
  std::string agent;            ///< the same; mpirun calls it instead of ssh
  std::string head;             ///< the host of mpirun
  std::string data_network;     ///< network of the ranks' messages, ADDRESS/BITS
  std::string control_network;  ///< network of mpirun and its daemons
  std::vector<std::string> namespaces = {};  ///< names of the hosts' network namespaces
};

struct LaunchSetting {
  int ranks = 1;
  std::vector<std::string> program = {};      ///< path and arguments
  std::vector<std::string> hosts = {};        ///< machine of each rank; empty: all on this machine
  std::string interface = {};                 ///< network between real machines; empty: Open MPI chooses
  std::optional<ClusterLaunch> cluster = {};  ///< the emulated cluster of the hosts
  bool device_memory = false;                 ///< an MPI that can read GPU memory may receive pointers to it
  std::string mpirun = "mpirun";
  std::string mark = {};  ///< variable of the ranks' environment (new_launch_mark); empty: a new one
  Seconds grace{5.0};     ///< from SIGTERM to SIGKILL
  /// Time from SIGTERM until ranks are asked to end. During it they know of the signal (end_signal) and may
  /// end by themselves. 0: no time.
  Seconds notice{0.0};
};

/// A rank that is to be killed.
struct PlannedKill {
  Rank rank = 0;
  Seconds in{};  ///< from now on; below 0: the moment has passed
};

/// Callbacks of `launch` while the job runs. Null functions are not called.
struct LaunchEvents {
  /// Standard output of the ranks, without status and progress lines.
  std::function<void(const std::string& line)> output = {};
  /// Standard error of the ranks, without mpirun's own messages.
  std::function<void(const std::string& line)> error = {};
  std::function<void(const std::string& text)> status = {};  ///< what ranks do before the job begins
  std::function<void(double fraction)> progress = {};        ///< see rank_lines.hpp
  /// Asked several times a second. A failure ends the job, with exit code 70.
  std::function<std::optional<RankFailure>()> failure = {};
  /// Asked several times a second, until it has been carried out: the next rank to kill (SIGKILL), for a
  /// machine that is taken away.
  std::function<std::optional<PlannedKill>()> kill = {};
  /// Kills a rank of a job on several machines. False: not yet, it is called again. Null: all ranks are on
  /// this machine.
  std::function<bool(Rank rank)> kill_rank = {};
};

struct LaunchResult {
  int exit_code = 0;  ///< 0 success, 2 bad input, 70 environment error, 128 + signal after SIGINT or SIGTERM
  Rank failed_rank = -1;                            ///< -1: none, or unknown
  std::optional<EndBySignal> ended_by_signal = {};  ///< a rank that a signal ended, as mpirun noticed
  bool mpirun_was_killed = false;                   ///< the ranks ended because of that
  bool rank_was_killed = false;                     ///< by LaunchEvents::kill
  bool rank_died = false;       ///< a rank ended by a signal or a library, without reporting an error
  bool ended_in_order = false;  ///< all ranks ended by themselves, and successfully, also after a signal
  std::string message;          ///< empty on success; names the rank and its host if known
};

/// The words of the command. Errors: ConfigError when `hosts` does not have one for each rank.
std::vector<std::string> launch_command(const LaunchSetting& setting);
/// The same as one line for a shell.
std::string print_command(const LaunchSetting& setting);
/// Quoted for a shell if necessary.
std::string shell_word(const std::string& word);

/// Runs the job to its end. This thread blocks SIGINT and SIGTERM and passes them on to mpirun, SIGTERM after
/// `notice`; a second signal, or the end of `grace`, kills the job. If this process dies the job ends too.
/// Errors: WorldError when mpirun cannot be started.
LaunchResult launch(const LaunchSetting& setting, const LaunchEvents& events = {});

/// "NAME=VALUE", a variable in the environment of all processes of one job.
std::string new_launch_mark();

/// Path of the program `name` in the folder of the running program. Errors: WorldError when it does not
/// exist.
std::string sibling_program(const std::string& name);

}  // namespace tandem
