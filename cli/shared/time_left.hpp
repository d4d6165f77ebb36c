// Estimates the remaining time of work from its progress.
#pragma once

#include <optional>

namespace tandem::cli {

/// The estimate does not rise while it is shown: when work becomes a little slower, it stays for a while. If
/// it still does not fall after that, it is not shown until the speed has been measured again. If the work
/// becomes much slower, there is no estimate until the old one is true again. The time before the first
/// progress, for starting up for example, does not count.
class TimeLeft {
 public:
  /// Seconds left after `elapsed_s` seconds with this fraction done, 0 to 1. Nothing until enough is done
  /// for an estimate, and while the last estimate is far too low. Pre: neither argument decreases.
  std::optional<double> update(double elapsed_s, double fraction);

 private:
  struct Point {
    double elapsed_s;
    double fraction;
  };
  std::optional<Point> first_;
  std::optional<double> left_s_;
  double still_since_s_ = 0.0;  ///< when the estimate last fell clearly
  double still_left_s_ = 0.0;   ///< the estimate then
};

}  // namespace tandem::cli
