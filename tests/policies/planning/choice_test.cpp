// Choices among configurations against numbers that were computed by hand or from the formula elsewhere.
#include "policies/planning/choice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace tandem::planning {
namespace TANDEM_FILE {

Outcome outcome(double hours, double dollars) {
  return {Seconds(3600 * hours), Money(std::llround(1e6 * dollars))};
}

TEST(Choice, WilsonsInterval) {
  for (const auto& [times, draws, low, high] :
       {std::tuple(190, 200, 0.9104, 0.9726), {950, 1000, 0.9347, 0.9619}, {200, 200, 0.9812, 1.0}}) {
    EXPECT_NEAR(wilson(times, draws).low, low, 5e-5) << times;
    EXPECT_NEAR(wilson(times, draws).high, high, 5e-5) << times;
  }
}

/// 200 draws never claim 99 %, whatever they are; what does not depend on chance is certain after one.
TEST(Choice, AClaimNeedsEnoughDraws) {
  const std::vector<Outcome> all(200, outcome(1, 2));
  const Goal strict{.deadline = Seconds(3600), .confidence = 0.99};
  EXPECT_FALSE(figures_of(all, strict).meets_goal);
  EXPECT_TRUE(figures_of(all, {.deadline = Seconds(3600), .confidence = 0.98}).meets_goal);
  EXPECT_TRUE(figures_of(std::vector(1, outcome(1, 2)), strict, true).meets_goal);
  EXPECT_FALSE(figures_of(std::vector(1, outcome(1.1, 2)), strict, true).meets_goal);
}

TEST(Choice, FiguresOfOutcomes) {
  const double never = std::numeric_limits<double>::infinity();
  const std::vector<Outcome> outcomes = {
      outcome(1, 10), outcome(3, 30), outcome(2, 20), {Seconds(never), Money(50'000'000)}};
  const Figures found = figures_of(outcomes, {.deadline = Seconds(3 * 3600), .budget = Money(20'000'000)});
  EXPECT_EQ(found.within, 0.5);
  // 10, 20, 30 and 50 are 17.5, 7.5, 2.5 and 22.5 from their mean.
  EXPECT_NEAR(found.cost_error, std::sqrt(875.0 / (4 * 3)), 1e-9);
  EXPECT_EQ(found.time_s.median, 2.5 * 3600);
  EXPECT_EQ(found.cost.median, 25.0);
  EXPECT_EQ(found.mean_cost, 27.5);
  EXPECT_TRUE(std::isinf(found.mean_time_s));
}

/// A dominated configuration changes nothing.
TEST(Choice, TheFrontFallsInCost) {
  std::vector<Outcome> expected = {outcome(4, 10), outcome(2, 30), outcome(3, 20), outcome(2, 30)};
  EXPECT_EQ(front(expected), (std::vector<std::size_t>{1, 2, 0}));
  expected.push_back(outcome(3, 21));
  EXPECT_EQ(front(expected), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(Choice, TheCheapestThatMeetsTheGoalOrTheNearest) {
  const auto chosen = [](const Goal& goal) {
    std::vector<Figures> all;
    for (const Outcome& each : {outcome(4, 10), outcome(2, 30), outcome(3, 20)})
      all.push_back(figures_of(std::vector(1, each), goal, true));
    const auto best = choose(all);
    return std::pair(best.has_value(), best.value_or(by_nearness(all, goal).front()));
  };
  EXPECT_EQ(chosen({}), std::pair(true, std::size_t(0)));
  EXPECT_EQ(chosen({.deadline = Seconds(3 * 3600)}), std::pair(true, std::size_t(2)));
  EXPECT_EQ(chosen({.deadline = Seconds(3600)}), std::pair(false, std::size_t(1)));
  // The cheapest in time, the fastest for the money, and where there is none of either the fastest.
  for (const auto& [hours, dollars, nearest] : {std::tuple(3, 15, 2), {1, 25, 2}, {1, 5, 1}})
    EXPECT_EQ(chosen({.deadline = Seconds(3600.0 * hours), .budget = Money(1'000'000 * dollars)}),
              std::pair(false, static_cast<std::size_t>(nearest)))
        << hours;
  EXPECT_EQ(chosen({.budget = Money(5'000'000)}), std::pair(false, std::size_t(0)));
}

/// Costs that share their fates differ by less than either varies.
TEST(Choice, PairedDifferences) {
  std::vector<Outcome> one, other, apart;
  Rng rng(7);
  for (int draw = 0; draw < 200; ++draw) {
    const double fate = 10 + rng.normal(), own = 0.5 * rng.normal();
    one.push_back(outcome(1, fate));
    other.push_back(outcome(1, fate + 0.2 + 0.1 * rng.normal()));
    apart.push_back(outcome(1, 10 + 2 * own));
  }
  EXPECT_TRUE(differ(one, other));
  EXPECT_FALSE(differ(one, apart));
  EXPECT_FALSE(differ(one, one));
}

TEST(Choice, ResamplesChooseAmongEquals) {
  std::vector<std::vector<Outcome>> outcomes(3);
  Rng rng(3);
  for (int draw = 0; draw < 100; ++draw)
    for (std::size_t i = 0; i < 3; ++i) outcomes[i].push_back(outcome(1, (i == 2 ? 30 : 10) + rng.normal()));
  const auto chosen = choices_of_resamples(outcomes, {false, false, false}, {}, 200, Rng(1));
  EXPECT_EQ(chosen[0] + chosen[1], 200);
  EXPECT_EQ(chosen[2], 0);
  EXPECT_GT(std::min(chosen[0], chosen[1]), 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::planning
