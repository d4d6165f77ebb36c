#include "policies/prices/order_statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
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

/// Of bounds between which the function may vary: few of many, the first and the last one among them.
void thin(std::vector<double>& bounds_s) {
  constexpr std::size_t most = 64;
  if (bounds_s.size() <= most) return;
  std::vector<double> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(bounds_s[i * (bounds_s.size() - 1) / (most - 1)]);
  bounds_s = std::move(kept);
}

/// The mean of a time that is at least `low` and, but for a tiny probability, at most `high`.
Seconds mean_of(std::span<const SpreadClass> classes, const std::function<double(Seconds)>& above) {
  constexpr double constant = 1e-15;
  std::vector<double> bounds_s, jumps_s;
  for (const SpreadClass& of : classes) {
    const auto own_s = of.spread.jumps_s();
    jumps_s.insert(jumps_s.end(), own_s.begin(), own_s.end());
    bounds_s.insert(bounds_s.end(), {of.spread.low().count(), of.spread.high().count()});
  }
  std::ranges::sort(bounds_s);
  thin(bounds_s);
  bounds_s.insert(bounds_s.end(), jumps_s.begin(), jumps_s.end());
  std::ranges::sort(bounds_s);
  bounds_s.erase(std::ranges::unique(bounds_s).begin(), bounds_s.end());
  double mean_s = bounds_s.front();
  for (std::size_t i = 1; i < bounds_s.size(); ++i) {
    const double begin_s = bounds_s[i - 1], end_s = bounds_s[i];
    // It never rises, and a jump at the end is not part of it.
    const double first = above(Seconds(begin_s)), last = above(Seconds(std::nextafter(end_s, begin_s)));
    if (first - last < constant)
      mean_s += first * (end_s - begin_s);
    else
      mean_s += boost::math::quadrature::gauss_kronrod<double, 31>::integrate(
          [&](double t_s) { return above(Seconds(t_s)); }, begin_s, end_s, 15, 1e-11);
  }
  return Seconds(mean_s);
}

/// By number, up to `most`: the probability that so many of independent workers are in a state that one of
/// class c is in with probability states[c].
std::vector<double> numbers_in_state(std::span<const SpreadClass> classes, const std::vector<double>& states,
                                     std::size_t most) {
  std::vector<double> found = {1.0};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const boost::math::binomial_distribution<double> own(classes[c].count, states[c]);
    const std::size_t own_most = std::min(most, static_cast<std::size_t>(classes[c].count));
    std::vector<double> of_own, next(std::min(most, found.size() - 1 + own_most) + 1, 0.0);
    for (std::size_t i = 0; i <= own_most; ++i)
      of_own.push_back(boost::math::pdf(own, static_cast<double>(i)));
    for (std::size_t i = 0; i < found.size(); ++i)
      for (std::size_t j = 0; j <= own_most && i + j <= most; ++j) next[i + j] += found[i] * of_own[j];
    found = std::move(next);
  }
  return found;
}

/// The probability that fewer than `done` workers are done; a function of the time.
class FewerDone {
 public:
  FewerDone(std::span<const SpreadClass> classes, std::int64_t done) : classes_(classes), done_(done) {
    for (const SpreadClass& of : classes) workers_ += of.count;
    TANDEM_CHECK(done >= 1 && done <= workers_, "done", done, "workers", workers_);
  }

  double operator()(Seconds t) const {
    std::vector<double> late;
    for (const SpreadClass& of : classes_) late.push_back(of.spread.above(t));
    const std::int64_t most_late = workers_ - done_;
    if (classes_.size() == 1)
      return boost::math::ibeta(static_cast<double>(most_late + 1), static_cast<double>(done_), late.front());
    if (cost(most_late) <= most_cost) {
      const auto numbers = numbers_in_state(classes_, late, static_cast<std::size_t>(most_late));
      return std::max(0.0, 1.0 - std::accumulate(numbers.begin(), numbers.end(), 0.0));
    }
    if (cost(done_ - 1) <= most_cost) {
      for (double& of : late) of = 1.0 - of;
      const auto numbers = numbers_in_state(classes_, late, static_cast<std::size_t>(done_ - 1));
      return std::accumulate(numbers.begin(), numbers.end(), 0.0);
    }
    return as_normal(late, static_cast<double>(most_late));
  }

 private:
  static constexpr double most_cost = 5e4;

  /// Products of exact probabilities up to that number.
  double cost(std::int64_t most) const {
    double all = 0.0;
    for (const SpreadClass& of : classes_)
      all += static_cast<double>(most + 1) * static_cast<double>(std::min<std::int64_t>(most, of.count) + 1);
    return all;
  }

  double as_normal(const std::vector<double>& late, double most_late) const {
    double mean = 0.0, variance = 0.0, third = 0.0;
    for (std::size_t c = 0; c < late.size(); ++c) {
      const double of_one = late[c] * (1.0 - late[c]);
      mean += classes_[c].count * late[c];
      variance += classes_[c].count * of_one;
      third += classes_[c].count * of_one * (1.0 - 2.0 * late[c]);
    }
    if (variance < 1e-12) return mean > most_late + 0.5 ? 1.0 : 0.0;
    const double deviation = std::sqrt(variance), x = (most_late + 0.5 - mean) / deviation;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double skewness = third / (variance * deviation);
    return std::clamp(std::erfc(x / std::numbers::sqrt2) / 2 - skewness / 6 * (1 - x * x) * density, 0.0,
                      1.0);
  }

  std::span<const SpreadClass> classes_;
  std::int64_t done_;
  std::int64_t workers_ = 0;
};

/// Of times without spread; none: some have one.
std::optional<Seconds> first_of_constants(std::span<const SpreadClass> classes, std::int64_t done) {
  std::vector<std::pair<double, int>> times_s;
  for (const SpreadClass& of : classes) {
    if (of.spread.low() != of.spread.high()) return std::nullopt;
    times_s.emplace_back(of.spread.low().count(), of.count);
  }
  std::ranges::sort(times_s);
  for (const auto& [time_s, count] : times_s)
    if ((done -= count) <= 0) return Seconds(time_s);
  return std::nullopt;
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

Seconds mean_of_first(std::span<const SpreadClass> classes, std::int64_t done) {
  const FewerDone fewer(classes, done);
  if (const auto constant = first_of_constants(classes, done)) return *constant;
  return mean_of(classes, fewer);
}

}  // namespace tandem::prices
