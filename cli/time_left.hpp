// How long work will still take, judged by its progress so far.
#pragma once

#include <optional>

namespace tandem::cli {

/// The estimate never rises: work that becomes a little slower keeps the estimate it had, instead of moving
/// its end away under the eyes of a user. If it becomes much slower, there is no estimate until the old one
/// is true again. What happened before the first progress, starting up for example, does not count.
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
};

}  // namespace tandem::cli
