// Runs the `tandem` command as a user does, in a folder of its own.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {

struct CommandResult {
  int exit_code;
  std::string output;  ///< standard output and error
};

/// A shell command that lists the processes with one of the names ("a|b") that were started in the present
/// folder: other tests may run beside.
std::string list_processes(const std::string& names);

/// How a command is ended before its time: shell commands, in which $run is its process, and `processes`
/// lists what it has started.
struct EarlyEnd {
  std::string processes;                 ///< what `processes` does
  std::string when;                      ///< succeeds when it is time; asked again and again for a minute
  std::string kill = "kill -TERM $run";  ///< to the command alone, as from a user's `kill`
};

/// A folder that is removed again, and the command run in it.
class CommandLine {
 public:
  /// Runs `tandem WORDS` through a shell.
  CommandResult tandem(const std::string& words) const;
  /// The same in the background, ended early. Expects that none of its processes is left.
  CommandResult tandem_ended_early(const std::string& words, const EarlyEnd& end) const;
  /// Runs any shell command in the folder; TANDEM names the command.
  CommandResult shell(const std::string& command) const;

  const std::filesystem::path& folder() const { return folder_.path(); }
  /// Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  /// A small experiment on the mixed lab: four workers, synthetic data. `more`: further YAML lines.
  std::string experiment(const std::string& more = "") const;

 private:
  TemporaryFolder folder_;
};

}  // namespace tandem::testing
