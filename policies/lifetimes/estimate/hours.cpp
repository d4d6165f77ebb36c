#include "policies/lifetimes/estimate/hours.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "policies/lifetimes/estimate/families.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {
namespace {

constexpr double seconds_of_hour = 3600.0;
constexpr double seconds_of_day = 24.0 * seconds_of_hour;
constexpr std::size_t hours_of_day = 24;

/// The means of Poisson counts for which so many deaths, or fewer, or more, are just not unlikely.
std::pair<double, double> bounds_of_count(double deaths, double confidence) {
  const auto half_quantile = [](double degrees, double share) {
    return boost::math::quantile(boost::math::chi_squared(degrees), share) / 2.0;
  };
  const double outside = (1.0 - confidence) / 2.0;
  return {deaths > 0.0 ? half_quantile(2.0 * deaths, outside) : 0.0,
          half_quantile(2.0 * deaths + 2.0, 1.0 - outside)};
}

double round_width(double longest) {
  constexpr double most = 48.0;
  for (const double width : {1.0, 10.0, 60.0, 600.0, seconds_of_hour, 6.0 * seconds_of_hour, seconds_of_day,
                             7.0 * seconds_of_day, 30.0 * seconds_of_day})
    if (longest <= most * width) return width;
  return longest / most;
}

/// Deaths and observed time by interval of age and hour of the day.
class HourTable {
 public:
  HourTable(const std::vector<Observation>& observations, const std::vector<double>& starts, Values ends)
      : ends_(std::move(ends)), time_(ends_.size() + 1), deaths_by_age_(ends_.size() + 1) {
    for (std::size_t i = 0; i < observations.size(); ++i) add(observations[i], starts[i]);
  }

  std::size_t ages() const { return time_.size(); }
  double deaths_by_age(std::size_t age) const { return deaths_by_age_[age]; }
  double deaths_by_hour(std::size_t hour) const { return deaths_by_hour_[hour]; }
  double time(std::size_t age, std::size_t hour) const { return time_[age][hour]; }
  double time_by_hour(std::size_t hour) const {
    double sum = 0.0;
    for (const auto& hours : time_) sum += hours[hour];
    return sum;
  }
  /// See HoursOfDay.
  std::int64_t degrees() const {
    std::array<std::size_t, hours_of_day> set_of = {};
    std::iota(set_of.begin(), set_of.end(), std::size_t{0});
    std::set<std::size_t> known, sets;
    for (std::size_t age = 0; age < ages(); ++age) {
      if (deaths_by_age_[age] <= 0.0) continue;
      std::optional<std::size_t> first;
      for (std::size_t hour = 0; hour < hours_of_day; ++hour) {
        if (time_[age][hour] <= 0.0) continue;
        known.insert(hour);
        if (!first) first = hour;
        const std::size_t merged = set_of[hour], kept = set_of[*first];
        std::ranges::replace(set_of, merged, kept);
      }
    }
    for (const std::size_t hour : known) sets.insert(set_of[hour]);
    return std::ssize(known) - std::ssize(sets);
  }

 private:
  void add(const Observation& one, double start) {
    const double last = one.middle();
    double from = one.entry;
    for (std::size_t age = 0; age < ages(); ++age) {
      const double to = std::min(last, age < ends_.size() ? ends_[age] : infinity);
      if (to <= from) continue;
      add_time(time_[age], start + from, start + to, one.weight);
      from = to;
    }
    if (!one.died) return;
    const auto age = static_cast<std::size_t>(std::ranges::lower_bound(ends_, last) - ends_.begin());
    deaths_by_age_[age] += one.weight;
    // A death exactly at an end counts in the hour before it, in which its time is.
    deaths_by_hour_[hour_of(std::ceil((start + last) / seconds_of_hour) - 1.0)] += one.weight;
  }
  static std::size_t hour_of(double hours_since_midnight) {
    const double hour = std::fmod(hours_since_midnight, 24.0);
    return static_cast<std::size_t>(hour < 0.0 ? hour + 24.0 : hour);
  }
  static void add_time(std::array<double, hours_of_day>& hours, double from, double to, double weight) {
    const double days = std::floor((to - from) / seconds_of_day);
    for (double& hour : hours) hour += weight * days * seconds_of_hour;
    from += days * seconds_of_day;
    for (double number = std::floor(from / seconds_of_hour); from < to; number += 1.0) {
      const double end = std::min(to, (number + 1.0) * seconds_of_hour);
      hours[hour_of(number)] += weight * (end - from);
      from = end;
    }
  }

  Values ends_;
  std::vector<std::array<double, hours_of_day>> time_;  ///< by age
  Values deaths_by_age_;
  std::array<double, hours_of_day> deaths_by_hour_ = {};
};

/// Rates and factors, in turn the likeliest ones of the others, until neither changes.
class HourFactors {
 public:
  explicit HourFactors(const HourTable& table) : table_(table), rates_(table.ages()) {
    for (std::size_t hour = 0; hour < hours_of_day; ++hour)
      if (table.time_by_hour(hour) > 0.0) known_.push_back(hour);
    factors_.fill(1.0);
    constexpr int most = 100'000;
    constexpr double close = 1e-13;
    for (int turn = 0; turn < most; ++turn)
      if (improve() < close) break;
    fit_rates();
  }

  const std::vector<std::size_t>& known() const { return known_; }
  const Values& rates() const { return rates_; }
  const std::array<double, hours_of_day>& factors() const { return factors_; }
  /// Deaths in the hour if its factor is 1.
  double expected(std::size_t hour) const {
    double sum = 0.0;
    for (std::size_t age = 0; age < rates_.size(); ++age) sum += table_.time(age, hour) * rates_[age];
    return sum;
  }

  /// Both likelihoods expect as many deaths as there are, so they differ in the logarithms of the hazards.
  double statistic() const {
    double sum = 0.0;
    for (const std::size_t hour : known_)
      if (table_.deaths_by_hour(hour) > 0.0) sum += table_.deaths_by_hour(hour) * std::log(factors_[hour]);
    for (std::size_t age = 0; age < rates_.size(); ++age) {
      const double deaths = table_.deaths_by_age(age);
      double time = 0.0;
      for (const std::size_t hour : known_) time += table_.time(age, hour);
      if (deaths > 0.0 && time > 0.0) sum += deaths * std::log(rates_[age] * time / deaths);
    }
    return std::max(0.0, 2.0 * sum);
  }

 private:
  void fit_rates() {
    for (std::size_t age = 0; age < rates_.size(); ++age) {
      double time = 0.0;
      for (const std::size_t hour : known_) time += table_.time(age, hour) * factors_[hour];
      rates_[age] = time > 0.0 ? table_.deaths_by_age(age) / time : 0.0;
    }
  }
  /// The largest change of a factor.
  double improve() {
    fit_rates();
    std::array<double, hours_of_day> found = factors_;
    double sum = 0.0;
    for (const std::size_t hour : known_) {
      const double deaths = expected(hour);
      if (deaths > 0.0) found[hour] = table_.deaths_by_hour(hour) / deaths;
      sum += found[hour];
    }
    if (sum <= 0.0) return 0.0;
    double change = 0.0;
    for (const std::size_t hour : known_) {
      found[hour] *= static_cast<double>(known_.size()) / sum;
      change = std::max(change, std::abs(found[hour] - factors_[hour]));
    }
    factors_ = found;
    return change;
  }

  const HourTable& table_;
  Values rates_;  ///< by age
  std::vector<std::size_t> known_;
  std::array<double, hours_of_day> factors_ = {};
};

/// Digits beyond these are noise of any table.
double with_four_decimals(double value) { return std::round(value * 1e4) / 1e4; }

/// All within less than an hour of the day, also across midnight.
bool start_together(Values starts) {
  for (double& start : starts) start -= std::floor(start / seconds_of_day) * seconds_of_day;
  std::ranges::sort(starts);
  double longest = starts.front() + seconds_of_day - starts.back();  // between two neighbours
  for (std::size_t i = 1; i < starts.size(); ++i) longest = std::max(longest, starts[i] - starts[i - 1]);
  return seconds_of_day - longest < seconds_of_hour;
}

/// What was observed, without an estimate.
HoursOfDay not_separable(const HourTable& table) {
  HoursOfDay found;
  found.is_separable = false;
  for (std::size_t hour = 0; hour < hours_of_day; ++hour)
    found.hours.push_back({.deaths = table.deaths_by_hour(hour), .time = table.time_by_hour(hour)});
  return found;
}

}  // namespace

std::vector<RateOfAges> rates_by_age(const std::vector<Observation>& observations, double confidence) {
  double longest = 0.0;
  for (const auto& one : observations) longest = std::max(longest, one.duration);
  if (longest <= 0.0) return {};
  const double width = round_width(longest);
  std::vector<RateOfAges> all(std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(longest / width))));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].begin = width * static_cast<double>(i);
    all[i].end = width * static_cast<double>(i + 1);
  }
  all.back().end = std::max(all.back().end, longest);
  for (const auto& one : observations) {
    const double last = one.middle();
    for (RateOfAges& ages : all) {
      ages.time += one.weight * std::max(0.0, std::min(last, ages.end) - std::max(one.entry, ages.begin));
      const bool is_here = last > ages.begin || ages.begin <= 0.0;
      if (one.died && is_here && last <= ages.end) ages.deaths += one.weight;
    }
  }
  for (RateOfAges& ages : all) {
    if (ages.time <= 0.0) continue;
    const auto [lower, upper] = bounds_of_count(ages.deaths, confidence);
    ages.rate = ages.deaths / ages.time;
    ages.lower = lower / ages.time;
    ages.upper = upper / ages.time;
  }
  return all;
}

std::optional<HoursOfDay> fit_hours(const std::vector<Observation>& observations,
                                    const std::vector<double>& starts, double confidence) {
  TANDEM_CHECK(observations.size() == starts.size(), observations.size(), starts.size());
  double deaths = 0.0;
  for (const auto& one : observations) deaths += one.died ? one.weight : 0.0;
  if (deaths <= 0.0) return std::nullopt;
  const Values ends = family_of("piecewise", observations).ends;
  const HourTable table(observations, starts, ends);
  const HourFactors fitted(table);
  const std::size_t hours = fitted.known().size();
  const auto parameters = static_cast<double>(ends.size() + hours);
  if (hours < 2 || deaths <= parameters) return std::nullopt;
  if (start_together(starts) || table.degrees() == 0) return not_separable(table);
  HoursOfDay found;
  found.hours.resize(hours_of_day);
  Values factors;
  for (std::size_t hour = 0; hour < hours_of_day; ++hour) {
    HourOfDay& own = found.hours[hour];
    own = {.deaths = table.deaths_by_hour(hour),
           .time = table.time_by_hour(hour),
           .factor = fitted.factors()[hour]};
    factors.push_back(with_four_decimals(own.factor));
    const double expected = fitted.expected(hour);
    if (expected <= 0.0) continue;
    const auto [lower, upper] = bounds_of_count(own.deaths, confidence);
    own.lower = lower / expected;
    own.upper = upper / expected;
  }
  found.statistic = fitted.statistic();
  found.degrees = table.degrees();
  found.p_value = boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(static_cast<double>(found.degrees)), found.statistic));
  found.aic_difference = 2.0 * static_cast<double>(found.degrees) - found.statistic;
  found.options = {{"ends", joined(ends)},
                   {"rates", joined(fitted.rates())},
                   {"by_hour", joined(factors)},
                   {"start_hour", 0.0}};
  return found;
}

}  // namespace tandem::lifetimes
