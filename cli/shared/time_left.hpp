// How long work will still take, judged by its progress so far.
#pragma once

#include <optional>

namespace tandem::cli {

/// The estimate does not rise while it is shown: work that becomes a little slower keeps the estimate it had
/// for a while. If the estimate then still does not fall, it is not shown until the speed has been measured
/// again. If the work becomes much slower, there is no estimate until the old one is true again. What
/// happened before the first progress, starting up for example, does not count.
class TimeLeft {
 public:
  /// Seconds left after `elapsed_s` seconds with this fraction done, 0 to 1; nothing until enough is done to
  /// judge, and while the last estimate is far too low. Pre: neither argument decreases.
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
