// Progress of long work: a bar on a terminal, otherwise a line every ten seconds; nothing for work under two
// seconds.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/shared/time_left.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  /// Shows the work before there is progress, in words: "starting 7 ranks". Immediately.
  void status(const std::string& text);
  /// `fraction` done, 0 to 1. The time that is left follows from it.
  void update(double fraction);
  /// `left`: for work that knows it better than its past speed does; none: not known.
  void update(double fraction, std::optional<Seconds> left);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool terminal_;
  bool shown_ = false;
  TimeLeft time_left_;
  Clock::time_point start_;
  Clock::time_point next_;
};

/// The fraction in the last line of progress in `file`, 0 if there is none. A ProgressBar whose output is
/// not a terminal writes such files.
double logged_progress(const std::string& file);

}  // namespace tandem::cli
