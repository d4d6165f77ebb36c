// How long work will still take, judged by its progress so far.
#pragma once

#include <optional>

namespace tandem::cli {

/// The estimate never rises: work that becomes slower keeps the estimate it had, instead of moving its end
/// away under the eyes of a user. What happened before the first progress, starting up for example, does not
/// count.
class TimeLeft {
 public:
  /// Seconds left after `elapsed_s` seconds with this fraction done, 0 to 1; nothing until enough is done to
  /// judge. Pre: neither argument decreases.
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
