#include "policies/prices/order_statistics.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::prices {

Spread Spread::constant(Seconds value) { return of_values({value.count()}); }

Spread Spread::exponential(Seconds mean) {
  TANDEM_CHECK(mean.count() > 0, "mean", mean.count());
  return {Kind::exponential, 0.0, mean.count()};
}

Spread Spread::normal(Seconds mean, Seconds deviation) {
  TANDEM_CHECK(deviation.count() > 0, "deviation", deviation.count());
  return {Kind::normal, mean.count(), deviation.count()};
}

Spread Spread::log_normal(Seconds median, double sigma) {
  TANDEM_CHECK(median.count() > 0 && sigma > 0, "median", median.count(), "sigma", sigma);
  return {Kind::log_normal, std::log(median.count()), sigma};
}

Spread Spread::of_values(std::vector<double> values_s) {
  TANDEM_CHECK(!values_s.empty(), "values", values_s.size());
  std::ranges::sort(values_s);
  Spread spread(Kind::values, 0.0, 0.0);
  spread.values_s_ = std::move(values_s);
  return spread;
}

Seconds Spread::mean() const {
  switch (kind_) {
    case Kind::exponential:
      return Seconds(scale_);
    case Kind::normal:
      return Seconds(location_s_);
    case Kind::log_normal:
      return Seconds(std::exp(location_s_ + scale_ * scale_ / 2));
    case Kind::values:
      break;
  }
  return Seconds(std::accumulate(values_s_.begin(), values_s_.end(), 0.0) /
                 static_cast<double>(values_s_.size()));
}

double Spread::above(Seconds t) const {
  const auto tail = [](double deviations) { return std::erfc(deviations / std::numbers::sqrt2) / 2; };
  switch (kind_) {
    case Kind::exponential:
      return t.count() <= 0 ? 1.0 : std::exp(-t.count() / scale_);
    case Kind::normal:
      return tail((t.count() - location_s_) / scale_);
    case Kind::log_normal:
      return t.count() <= 0 ? 1.0 : tail((std::log(t.count()) - location_s_) / scale_);
    case Kind::values:
      break;
  }
  const auto later = std::ranges::upper_bound(values_s_, t.count());
  return static_cast<double>(values_s_.end() - later) / static_cast<double>(values_s_.size());
}

namespace {
/// Standard deviations beyond which the probability of a normal distribution is below 1e-17.
constexpr double most_deviations = 9.0;
}  // namespace

Seconds Spread::low() const {
  switch (kind_) {
    case Kind::exponential:
      return Seconds(0.0);
    case Kind::normal:
      return Seconds(location_s_ - most_deviations * scale_);
    case Kind::log_normal:
      return Seconds(std::exp(location_s_ - most_deviations * scale_));
    case Kind::values:
      break;
  }
  return Seconds(values_s_.front());
}

Seconds Spread::high() const {
  switch (kind_) {
    case Kind::exponential:
      return Seconds(40.0 * scale_);
    case Kind::normal:
      return Seconds(location_s_ + most_deviations * scale_);
    case Kind::log_normal:
      return Seconds(std::exp(location_s_ + most_deviations * scale_));
    case Kind::values:
      break;
  }
  return Seconds(values_s_.back());
}

namespace {

/// The mean of a time that is at least `low` and, but for a tiny probability, at most `high`.
Seconds mean_of(std::span<const SpreadClass> classes, const std::function<double(Seconds)>& above) {
  double low_s = classes.front().spread.low().count(), high_s = classes.front().spread.high().count();
  std::vector<double> bounds_s;
  for (const SpreadClass& of : classes) {
    low_s = std::min(low_s, of.spread.low().count());
    high_s = std::max(high_s, of.spread.high().count());
    const auto jumps_s = of.spread.jumps_s();
    bounds_s.insert(bounds_s.end(), jumps_s.begin(), jumps_s.end());
    if (jumps_s.empty()) bounds_s.insert(bounds_s.end(), {of.spread.low().count(), of.spread.high().count()});
  }
  std::ranges::sort(bounds_s);
  bounds_s.erase(std::ranges::unique(bounds_s).begin(), bounds_s.end());
  double mean_s = low_s;
  for (std::size_t i = 1; i < bounds_s.size(); ++i)
    mean_s += boost::math::quadrature::gauss_kronrod<double, 31>::integrate(
        [&](double t_s) { return above(Seconds(t_s)); }, bounds_s[i - 1], bounds_s[i], 15, 1e-11);
  return Seconds(mean_s);
}

}  // namespace

Seconds mean_of_slowest(std::span<const SpreadClass> classes) {
  TANDEM_CHECK(!classes.empty(), "classes", classes.size());
  return mean_of(classes, [&](Seconds t) {
    double logarithm = 0.0;
    for (const SpreadClass& of : classes) logarithm += of.count * std::log1p(-of.spread.above(t));
    return -std::expm1(logarithm);
  });
}

}  // namespace tandem::prices
