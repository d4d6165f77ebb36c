#include "policies/planning/choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem::planning {
namespace {

constexpr double z95 = errors_of_interval;  // 97.5 % of a standard normal distribution are below

Band band_of(const std::vector<double>& values) {
  constexpr double low = 0.05, high = 0.95;
  return {quantile(values, 0.5), quantile(values, low), quantile(values, high)};
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of the mean; 0 for one value.
double error_of(const std::vector<double>& values, double mean) {
  if (values.size() < 2) return 0.0;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / (n * (n - 1)));
}

}  // namespace

bool Goal::is_in_time(const Outcome& outcome) const {
  return std::isfinite(outcome.time.count()) && (!deadline || outcome.time <= *deadline);
}

Interval wilson(std::int64_t times, std::int64_t draws) {
  TANDEM_CHECK(draws >= 1 && times >= 0 && times <= draws, times, draws);
  const auto n = static_cast<double>(draws);
  const double share = static_cast<double>(times) / n, square = z95 * z95;
  const double centre = (share + square / (2 * n)) / (1 + square / n);
  const double half = z95 / (1 + square / n) * std::sqrt(share * (1 - share) / n + square / (4 * n * n));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

Figures figures_of(std::span<const Outcome> outcomes, const Goal& goal, bool is_certain) {
  TANDEM_CHECK(!outcomes.empty(), "outcomes", outcomes.size());
  std::vector<double> times, costs;
  std::int64_t met = 0, in_time = 0, in_budget = 0;
  for (const Outcome& outcome : outcomes) {
    times.push_back(outcome.time.count());
    costs.push_back(outcome.cost.dollars());
    met += goal.is_met_by(outcome) ? 1 : 0;
    in_time += goal.is_in_time(outcome) ? 1 : 0;
    in_budget += goal.is_in_budget(outcome) ? 1 : 0;
  }
  const auto count = static_cast<double>(outcomes.size());
  Figures figures{.time_s = band_of(times),
                  .cost = band_of(costs),
                  .mean_time_s = mean_of(times),
                  .mean_cost = mean_of(costs),
                  .cost_error = error_of(costs, mean_of(costs)),
                  .within = static_cast<double>(met) / count,
                  .in_time = static_cast<double>(in_time) / count,
                  .in_budget = static_cast<double>(in_budget) / count,
                  .within_interval = wilson(met, std::ssize(outcomes))};
  if (is_certain) figures.within_interval = {figures.within, figures.within};
  figures.meets_goal = figures.within_interval.low >= goal.confidence;
  return figures;
}

std::vector<std::size_t> front(std::span<const Outcome> expected) {
  std::vector<std::size_t> order(expected.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return std::tuple(expected[i].time.count(), expected[i].cost); });
  std::vector<std::size_t> kept;
  for (const std::size_t i : order)
    if (kept.empty() || expected[i].cost < expected[kept.back()].cost) kept.push_back(i);
  return kept;
}

std::optional<std::size_t> choose(std::span<const Figures> configurations) {
  std::optional<std::size_t> best;
  const auto key = [&](std::size_t i) {
    return std::tuple(configurations[i].mean_cost, configurations[i].mean_time_s);
  };
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (configurations[i].meets_goal && (!best || key(i) < key(*best))) best = i;
  return best;
}

std::vector<std::size_t> by_nearness(std::span<const Figures> configurations, const Goal& goal) {
  std::vector<std::size_t> order(configurations.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Figures& of = configurations[i];
    // Of two parts, one may be met alone.
    int met = 0;
    if (goal.deadline && goal.budget)
      met = of.in_time >= goal.confidence ? 0 : of.in_budget >= goal.confidence ? 1 : 2;
    const bool by_time = goal.deadline && (met > 0 || !goal.budget);
    return by_time ? std::tuple(-of.within, met, of.mean_time_s, of.mean_cost)
                   : std::tuple(-of.within, met, of.mean_cost, of.mean_time_s);
  });
  return order;
}

bool differ(std::span<const Outcome> one, std::span<const Outcome> other, double errors) {
  TANDEM_CHECK(one.size() == other.size(), one.size(), other.size());
  const auto n = static_cast<double>(one.size());
  double sum = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double difference = one[i].cost.dollars() - other[i].cost.dollars();
    sum += difference;
    squares += difference * difference;
  }
  const double mean = sum / n;
  const double variance = n > 1 ? std::max(0.0, squares - n * mean * mean) / (n - 1) : 0.0;
  return std::abs(mean) > errors * std::sqrt(variance / n);
}

std::vector<int> choices_of_resamples(const std::vector<std::vector<Outcome>>& outcomes,
                                      const std::vector<bool>& is_certain, const Goal& goal, int resamples,
                                      Rng rng) {
  std::vector<int> chosen(outcomes.size(), 0);
  const std::size_t draws = outcomes.front().size();
  for (int resample = 0; resample < resamples; ++resample) {
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < draws; ++i) drawn.push_back(static_cast<std::size_t>(rng.below(draws)));
    std::vector<Figures> figures;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      std::vector<Outcome> again;
      for (const std::size_t draw : drawn) again.push_back(outcomes[i][draw]);
      figures.push_back(figures_of(again, goal, is_certain[i]));
    }
    if (const auto best = choose(figures)) ++chosen[*best];
  }
  return chosen;
}

}  // namespace tandem::planning
