// Ranks that are started once and play the jobs of many tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {

class RankWorld {
 public:
  /// `launch`: the words of mpirun before the program, for a shell.
  RankWorld(const std::string& launch, int ranks);
  ~RankWorld();
  RankWorld(const RankWorld&) = delete;
  RankWorld& operator=(const RankWorld&) = delete;

  /// Plays the job whose arguments of tandem-rank are in `job_words` in the folder. False when the world has
  /// ended over it.
  bool play(const std::string& folder);
  /// What the ranks have printed.
  std::string output() const;

 private:
  TemporaryFolder folder_;
  std::vector<int> jobs_;  ///< file descriptor of each rank
  int done_ = -1;
  pid_t mpirun_ = -1;
};

/// As `tandem run WORDS` in the folder of `line`, but on ranks that have been started for an earlier job with
/// the same launch.
CommandResult run_in_shared_world(const CommandLine& line, const std::string& words);

}  // namespace tandem::testing
