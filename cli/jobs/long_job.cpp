#include "cli/jobs/long_job.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

constexpr double observed_share = 1.0 / 180.0;

std::string readable(double seconds) {
  constexpr double minute = 60, hour = 60 * minute, day = 24 * hour, year = 365 * day;
  if (seconds < 2 * minute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} minutes", seconds / minute);
  if (seconds < 2 * day) return fmt::format("{:.0f} hours", seconds / hour);
  if (seconds < 2 * year) return fmt::format("{:.0f} days", seconds / day);
  return fmt::format("{:.3g} years", seconds / year);
}

}  // namespace

LongJobCheck::LongJobCheck(std::chrono::duration<double> longest, std::function<Clock::time_point()> now)
    : longest_(longest), now_(std::move(now)) {}

void LongJobCheck::update(double fraction) {
  if (is_done_) return;
  const Clock::time_point now = now_();
  if (!first_) first_ = Point{now, fraction};
  const double observed_s = std::chrono::duration<double>(now - first_->time).count();
  if (observed_s < observed_share * longest_.count()) return;
  is_done_ = true;
  const double done = fraction - first_->fraction;
  if (done > 0.0 && observed_s * (1.0 - first_->fraction) / done <= longest_.count()) return;
  const std::string estimate =
      done > 0.0 ? "about " + readable(observed_s * (1.0 - first_->fraction) / done) : "very long";
  throw ConfigError(
      fmt::format("this simulation would take {} (after {:.3g} s, {:.2g} % is done), longer than {}; set an "
                  "earlier stop, "
                  "for example --set stop.rounds=1000, or simulate it anyway with --yes",
                  estimate, observed_s, 100.0 * fraction, readable(longest_.count())));
}

SlowStartCheck::SlowStartCheck(std::chrono::duration<double> longest, std::function<Clock::time_point()> now)
    : limit_(longest / 60.0), now_(std::move(now)), start_(now_()) {}

std::optional<std::string> SlowStartCheck::update(Seconds simulated) {
  const std::chrono::duration<double> elapsed = now_() - start_;
  if (is_done_ || elapsed < limit_) return std::nullopt;
  is_done_ = true;
  return fmt::format(
      "no round has ended after {}, at {:.3g} s of simulated time, so the time left is not known; "
      "Ctrl-C stops the simulation; fewer workers or a smaller model take less time",
      readable(elapsed.count()), simulated.count());
}

}  // namespace tandem::cli
