#include "cli/shared/time_left.hpp"

#include <algorithm>

namespace tandem::cli {
namespace {

// A smaller share says little: the first steps are slower than the others.
constexpr double enough = 0.02;
// The last estimate still stands if the newest one is at most this much higher.
constexpr double allowed_factor = 1.5, allowed_s = 5.0;
// An estimate stands still when it falls by less than this share of the time that passes, for so long.
constexpr double least_fall = 0.1, longest_still_s = 15.0;

}  // namespace

std::optional<double> TimeLeft::update(double elapsed_s, double fraction) {
  if (fraction >= 1.0) return left_s_ = 0.0;
  if (!first_ && fraction > 0.0) first_ = Point{elapsed_s, fraction};
  if (!first_ || fraction - first_->fraction < enough || elapsed_s <= first_->elapsed_s) return left_s_;
  const double rate = (fraction - first_->fraction) / (elapsed_s - first_->elapsed_s);
  const double estimate_s = std::max(0.0, (1.0 - fraction) / rate);
  if (left_s_ && estimate_s > *left_s_ * allowed_factor + allowed_s) {
    still_since_s_ = elapsed_s;
    return std::nullopt;
  }
  if (!left_s_ || estimate_s <= still_left_s_ - least_fall * (elapsed_s - still_since_s_)) {
    still_since_s_ = elapsed_s;
    still_left_s_ = estimate_s;
  } else if (elapsed_s - still_since_s_ > longest_still_s) {
    first_ = Point{elapsed_s, fraction};
    left_s_.reset();
    return std::nullopt;
  }
  left_s_ = left_s_ ? std::min(*left_s_, estimate_s) : estimate_s;
  return left_s_;
}

}  // namespace tandem::cli
