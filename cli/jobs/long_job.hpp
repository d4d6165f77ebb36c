// Stops a simulation that would take too long: estimates its real time from the progress of its first
// seconds.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem::cli {

class LongJobCheck {
 public:
  using Clock = std::chrono::steady_clock;
  /// `longest`: real time that a job may take. The estimate is made once, after a 180th of it (20 s of an
  /// hour): shorter jobs end before. `now`: a clock for tests.
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
  std::optional<Point> first_;  ///< at the first update: the time before it does not repeat
  bool is_done_ = false;
};

/// Reports once that no round has ended after a 60th of the longest time (a minute of an hour). There is no
/// estimate for such a job.
class SlowStartCheck {
 public:
  using Clock = LongJobCheck::Clock;
  explicit SlowStartCheck(std::chrono::duration<double> longest,
                          std::function<Clock::time_point()> now = Clock::now);

  /// A round has ended, so there is nothing to report.
  void round_ended() { is_done_ = true; }
  /// `simulated`: simulated time so far. The text for the user, once; otherwise nothing.
  std::optional<std::string> update(Seconds simulated);

 private:
  std::chrono::duration<double> limit_;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_;
  bool is_done_ = false;
};

}  // namespace tandem::cli
