// Ranks that are started once and run the jobs of many tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::testing {

class RankWorld {
 public:
  /// `launch`: the shell words of the mpirun command before the program. `program`: built from
  /// served_rank.cpp.
  RankWorld(const std::string& launch, int ranks, const std::string& program);
  ~RankWorld();
  RankWorld(const RankWorld&) = delete;
  RankWorld& operator=(const RankWorld&) = delete;

  /// Runs the job whose tandem-rank arguments are in `job_words` in the folder. False if the ranks have ended
  /// because of it.
  bool play(const std::string& folder);
  /// The output of the ranks so far.
  std::string output() const;

 private:
  TemporaryFolder folder_;
  std::vector<int> jobs_;  ///< file descriptor of each rank
  int done_ = -1;
  pid_t mpirun_ = -1;
};

/// Like `tandem run WORDS` in the folder of `line`, but reuses ranks that an earlier job with the same launch
/// command has started. `program`: built from served_rank.cpp.
CommandResult run_in_shared_world(const CommandLine& line, const std::string& words,
                                  const std::string& program);

}  // namespace tandem::testing
