// Reads mpirun's standard error line by line, separates lines of the ranks from mpirun's own messages, and
// finds out which rank failed and why. Works on text alone.
#pragma once

#include <optional>
#include <string>

#include "runtime/launcher/rank_lines.hpp"

namespace tandem {

struct EndBySignal {
  Rank rank = -1;
  int signal = 0;
};

class MpirunErrors {
 public:
  /// Returns the line if a rank printed it. Returns nothing if mpirun printed it, or if it reports a failure
  /// (see `failure`).
  std::optional<std::string> read(const std::string& line);

  /// The failure: a rank's own message if there is one, otherwise mpirun's; rank -1 if no rank is known to
  /// have failed. Pre: the job has failed.
  RankFailure failure() const;
  /// The rank that a signal ended, as mpirun noticed. mpirun names at most one.
  std::optional<EndBySignal> ended_by_signal() const { return ended_by_signal_; }

 private:
  void read_mpirun_line(const std::string& line);

  bool inside_mpirun_message_ = false;
  std::optional<RankFailure> reported_;
  std::optional<RankFailure> observed_;
  std::optional<EndBySignal> ended_by_signal_;
  std::optional<RankFailure> broken_;  ///< a connection between two ranks
  std::string local_host_;
  std::string mpirun_text_;
};

}  // namespace tandem
