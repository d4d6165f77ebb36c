// Reads mpirun's standard error line by line: tells what the ranks said from mpirun's own talk, and learns
// from both which rank failed and why. Pure text, starts nothing.
#pragma once

#include <optional>
#include <string>

#include "runtime/launcher/rank_lines.hpp"

namespace tandem {

class MpirunErrors {
 public:
  /// The line if a rank said it, or nothing if mpirun did or if it is a failure, which `failure` tells.
  std::optional<std::string> read(const std::string& line);

  /// What failed: a rank's own words if there were any, else what mpirun noticed; rank -1 if no rank is to
  /// blame. Pre: the job has failed.
  RankFailure failure() const;

 private:
  void read_talk(const std::string& line);

  bool inside_talk_ = false;
  std::optional<RankFailure> reported_;
  std::optional<RankFailure> noticed_;
  std::string talk_;
};

}  // namespace tandem
