// Stops a simulation that would take much longer than anyone waits: estimates its real time from the progress
// of its first seconds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace tandem::cli {

class LongJobCheck {
 public:
  using Clock = std::chrono::steady_clock;
  /// `longest`: real time that a job may take. The estimate is made once, after a 180th of it (20 s of an
  /// hour), so that shorter jobs are never asked. `now`: a clock for tests.
  explicit LongJobCheck(std::chrono::duration<double> longest,
                        std::function<Clock::time_point()> now = Clock::now);

  /// `fraction` of the job done, 0 to 1. Errors: ConfigError when the whole job would take longer.
  void update(double fraction);

 private:
  struct Point {
    Clock::time_point time;
    double fraction;
  };

  std::chrono::duration<double> longest_;
  std::function<Clock::time_point()> now_;
  std::optional<Point> first_;  ///< at the first update: what came before does not repeat
  bool is_done_ = false;
};

}  // namespace tandem::cli
