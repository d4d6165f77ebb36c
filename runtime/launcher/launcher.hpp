// Starts a program on several ranks through mpirun, watches over it and leaves no process behind. POSIX only:
// the `tandem` command links this and therefore may not know MPI.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// How mpirun reaches the hosts of an emulated cluster; see runtime/cluster/cluster.hpp.
struct ClusterLaunch {
  std::string enter;            ///< program for sh: HOST WORDS... runs the words as that host
  std::string agent;            ///< the same, as mpirun calls it in place of ssh
  std::string head;             ///< the host that mpirun itself runs as
  std::string data_network;     ///< of the ranks' messages, ADDRESS/BITS
  std::string control_network;  ///< of mpirun's own
};

struct LaunchSetting {
  int ranks = 1;
  std::vector<std::string> program = {};      ///< path and arguments
  std::vector<std::string> hosts = {};        ///< machine of each rank; empty: all on this one
  std::optional<ClusterLaunch> cluster = {};  ///< that the hosts belong to
  bool device_memory = false;  ///< MPI may be given the memory of GPUs, if it is able to read it
  std::string mpirun = "mpirun";
  Seconds grace{5.0};  ///< from asking the job to end to killing it
};

/// Called while the job runs, from within `launch`. Null functions are left out.
struct LaunchEvents {
  /// Standard output of the ranks, without their progress.
  std::function<void(const std::string& line)> output = {};
  /// Standard error of the ranks, without mpirun's own talk.
  std::function<void(const std::string& line)> error = {};
  std::function<void(double fraction)> progress = {};  ///< see rank_lines.hpp
};

struct LaunchResult {
  int exit_code = 0;  ///< 0 fine, 2 bad input, 70 broken world, 128 + signal if ended by SIGINT or SIGTERM
  Rank failed_rank = -1;  ///< -1: none, or unknown
  std::string message;    ///< empty if fine; names the rank and its host where they are known
};

/// The words of the command. Errors: ConfigError when `hosts` does not have one for each rank.
std::vector<std::string> launch_command(const LaunchSetting& setting);
/// The same as one line for a shell.
std::string print_command(const LaunchSetting& setting);
/// Quoted for a shell where it has to be.
std::string shell_word(const std::string& word);

/// Runs the job to its end. SIGINT and SIGTERM end it: they are kept from this thread meanwhile and passed
/// on; a second one, or `grace`, kills. If this process dies the job ends too. Errors: WorldError when mpirun
/// cannot be started.
LaunchResult launch(const LaunchSetting& setting, const LaunchEvents& events = {});

/// The program `name` beside the running one. Errors: WorldError when it is not there.
std::string sibling_program(const std::string& name);

}  // namespace tandem
