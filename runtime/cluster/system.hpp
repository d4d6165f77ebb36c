// The Linux functions that an emulated cluster needs: commands with text as input, network namespaces, and
// the processes in them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace tandem::cluster {

struct CommandOutcome {
  int exit_code;       ///< 127 if the program does not exist
  std::string output;  ///< standard output and error
};
/// Runs a command to its end with `input` as standard input. Signals that this thread blocks do not end it.
/// Errors: WorldError when the system cannot start a process.
CommandOutcome run_command(const std::vector<std::string>& words, const std::string& input = {});

/// Names of the network namespaces that begin with `prefix`, sorted.
std::vector<std::string> network_namespaces(const std::string& prefix);
/// Calls `act` on a thread inside the namespace. Errors: WorldError when the namespace cannot be entered;
/// whatever `act` throws.
void inside_namespace(const std::string& name, const std::function<void()>& act);
/// Processes in the namespace.
std::vector<pid_t> processes_in(const std::string& name);
/// Kills them all and waits until they have ended. Errors: WorldError when one does not end.
void kill_processes_in(const std::string& name);

}  // namespace tandem::cluster
