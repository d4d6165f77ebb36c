// The choice among ways to rent machines for a job, from simulated outcomes of each. The outcomes of two
// configurations with the same number belong to the same fates of machines, so their difference is that of
// the configurations. Pure. Sources: Wilson: Probable inference, the law of succession, and statistical
// inference. JASA 22, 1927; Glasserman, Yao: Some guidelines and guarantees for common random numbers.
// Management Science 38(6), 1992.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::planning {

/// Of one simulated job.
struct Outcome {
  Seconds time{};  ///< infinite: the job did not end
  Money cost{};
  bool operator==(const Outcome&) const = default;
};

struct Goal {
  std::optional<Seconds> deadline{};
  std::optional<Money> budget{};
  double confidence = 0.95;  ///< with which both are met

  bool is_in_time(const Outcome& outcome) const;  ///< it ends, and meets the deadline if there is one
  bool is_in_budget(const Outcome& outcome) const { return !budget || outcome.cost <= *budget; }
  bool is_met_by(const Outcome& outcome) const { return is_in_time(outcome) && is_in_budget(outcome); }
};

struct Interval {
  double low = 0.0, high = 1.0;
};
/// So many standard errors on both sides of a mean are its 95 % interval.
constexpr double errors_of_interval = 1.959963984540054;
/// Of a probability, by how often something happened: Wilson's, with 95 %. Pre: 0 <= times <= draws, draws
/// >= 1.
Interval wilson(std::int64_t times, std::int64_t draws);

/// Median, and the 5th and 95th percentile.
struct Band {
  double median = 0.0, low = 0.0, high = 0.0;
};

struct Figures {
  Band time_s{}, cost{};  ///< cost in dollars
  double mean_time_s = 0.0, mean_cost = 0.0;
  double cost_error = 0.0;                ///< standard error of the mean cost
  double within = 0.0;                    ///< share of the outcomes that meet the goal
  double in_time = 0.0, in_budget = 0.0;  ///< shares of those that meet a part of it
  Interval within_interval{};
  /// Its lower end is at least the confidence, or every outcome is the same and meets the goal.
  bool meets_goal = false;
};
/// Pre: at least one outcome. `is_certain`: no outcome depends on chance.
Figures figures_of(std::span<const Outcome> outcomes, const Goal& goal, bool is_certain = false);

/// The configurations than which no other one is both at least as fast and at least as cheap, fastest first;
/// of equal ones the first.
std::vector<std::size_t> front(std::span<const Outcome> expected);

/// The cheapest in the mean of those that meet the goal; of equal ones the fastest. None: none meets it.
std::optional<std::size_t> choose(std::span<const Figures> configurations);
/// All of them, those that meet the goal most often first. Of equal ones the fastest in the mean if there is
/// a deadline, else the cheapest. With deadline and budget the cheapest of those that meet the deadline with
/// the confidence, then the fastest of those that meet the budget, then the fastest of the others.
std::vector<std::size_t> by_nearness(std::span<const Figures> configurations, const Goal& goal);

/// Whether the mean costs of two configurations differ by more than so many standard errors of their paired
/// difference. Pre: equally many outcomes.
bool differ(std::span<const Outcome> one, std::span<const Outcome> other, double errors = 2.0);

/// How often each configuration is chosen, among so many choices from outcomes that are drawn again with
/// replacement, by the same draws for all. Those that are certain keep their outcome. Pre: equally many
/// outcomes of each, at least one.
std::vector<int> choices_of_resamples(const std::vector<std::vector<Outcome>>& outcomes,
                                      const std::vector<bool>& is_certain, const Goal& goal, int resamples,
                                      Rng rng);

}  // namespace tandem::planning
