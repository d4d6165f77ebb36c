// Runs the `tandem` command as a user would, in a temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {

struct CommandResult {
  int exit_code;
  std::string output;  ///< standard output and error
};

/// Whether `tandem run` gets ranks that a process with libtorch has forked (rank_server.cpp) in this program,
/// instead of those of tandem-rank, which load it. Defined by served_ranks.cpp or own_ranks.cpp.
bool ranks_are_served();

/// A shell command that lists the processes with one of the names ("a|b") that were started in the current
/// folder: other tests may run concurrently.
std::string list_processes(const std::string& names);

/// A shell command that succeeds once all ranks of `tandem run --out OUT` have agreed on the job and begin
/// it.
std::string has_started(const std::string& out);
/// The same of a launch of several jobs.
std::string have_started(const std::string& out, int jobs);

/// How to end a running command early: shell commands, in which $run is the command's process, and
/// `processes` lists the processes that it has started.
struct EarlyEnd {
  std::string processes;                 ///< the definition of `processes`
  std::string when;                      ///< succeeds when it is time to end it; polled for a minute
  std::string kill = "kill -TERM $run";  ///< signals the command alone, like a user's `kill`
};

/// A temporary folder, and the command run in it.
class CommandLine {
 public:
  /// `math`: of the experiments, "modelled" or "real". Real mathematics is for claims about models, losses
  /// and accuracies: it loads libtorch in every process.
  explicit CommandLine(std::string math = "modelled") : math_(std::move(math)) {}

  /// Runs `tandem WORDS`, which are split as a shell does, in a child of a process that has loaded libtorch
  /// (command_server.cpp); through a shell where the words need one.
  CommandResult tandem(const std::string& words) const;
  /// The same in the background, ended early. Expects that none of its processes remains.
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
  std::string math_;
};

}  // namespace tandem::testing
