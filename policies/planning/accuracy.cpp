#include "policies/planning/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"

namespace tandem::planning {

std::optional<AccuracyCurve::Point> reached(const AccuracyCurve& curve, double target) {
  const auto found = std::ranges::find_if(
      curve.points, [&](const AccuracyCurve::Point& point) { return point.accuracy >= target; });
  return found == curve.points.end() ? std::nullopt : std::optional(*found);
}

AccuracyCurve::Point best_of(const AccuracyCurve& curve) {
  TANDEM_CHECK(!curve.points.empty(), "a curve without points", curve.source);
  return *std::ranges::max_element(curve.points, {}, &AccuracyCurve::Point::accuracy);
}

SamplesToTarget::SamplesToTarget(const std::vector<AccuracyCurve>& curves, double target, std::string name)
    : target_(target), name_(std::move(name)) {
  std::map<int, int> counts;
  for (const AccuracyCurve& curve : curves) {
    const auto found = reached(curve, target);
    const bool is_first = !known_.contains(curve.workers);
    Known& of = known_[curve.workers];
    of.best = std::min(of.best, best_of(curve).accuracy);
    const double before = is_first ? 0.0 : of.samples.value_or(0.0);
    if (!found || (!is_first && !of.samples)) {
      of.samples.reset();
      continue;
    }
    const int count = ++counts[curve.workers];
    of.samples = before + (static_cast<double>(found->samples) - before) / count;
  }
}

const SamplesToTarget::Known& SamplesToTarget::reaching(std::map<int, Known>::const_iterator known) const {
  if (known->second.samples) return known->second;
  throw ConfigError("the accuracy curves of " + name_ + " with so many workers do not reach " +
                    shortest_text(target_) + " (best " + shortest_text(known->second.best) + ")");
}

std::int64_t SamplesToTarget::with(int workers) const {
  const auto above = known_.lower_bound(workers);
  if (above == known_.end() || (above == known_.begin() && above->first != workers))
    throw ConfigError("no accuracy curve of " + name_ + " with so many workers" +
                      (known_.empty() ? std::string()
                                      : " (curves: " + std::to_string(known_.begin()->first) + " to " +
                                            std::to_string(known_.rbegin()->first) + ")"));
  const double high = *reaching(above).samples;
  if (above->first == workers) return std::llround(high);
  const auto below = std::prev(above);
  const double low = *reaching(below).samples;
  const auto log_of = [](int count) { return std::log(static_cast<double>(count)); };
  const double part =
      (log_of(workers) - log_of(below->first)) / (log_of(above->first) - log_of(below->first));
  return std::llround(std::exp(std::log(low) + part * (std::log(high) - std::log(low))));
}

}  // namespace tandem::planning
