// What an emulated cluster needs of Linux: commands with text as their input, network namespaces, processes
// within them.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace tandem::cluster {

struct CommandOutcome {
  int exit_code;       ///< 127 when there is no such program
  std::string output;  ///< standard output and error
};
/// Runs it to its end, giving it `input`. SIGINT and SIGTERM do not reach it where this thread blocks them.
/// Errors: WorldError when no process can be made.
CommandOutcome run_command(const std::vector<std::string>& words, const std::string& input = {});

/// Names of the network namespaces that begin with `prefix`, sorted.
std::vector<std::string> network_namespaces(const std::string& prefix);
/// Calls `act` on a thread that is in the namespace; nothing else may be passed out of it than by `act`.
/// Errors: WorldError when it cannot be entered; what `act` throws.
void inside_namespace(const std::string& name, const std::function<void()>& act);
/// Processes in the namespace.
std::vector<pid_t> processes_in(const std::string& name);
/// Kills them all and waits until they are gone. Errors: WorldError when they do not go.
void kill_processes_in(const std::string& name);

}  // namespace tandem::cluster
