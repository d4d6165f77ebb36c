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

/// A shell function that lists the processes with one of the names ("a|b") that were started in the present
/// folder: other tests may run beside.
std::string list_processes(const std::string& function, const std::string& names);

/// A folder that is removed again, and the command run in it.
class CommandLine {
 public:
  /// Runs `tandem WORDS` through a shell.
  CommandResult tandem(const std::string& words) const;
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
