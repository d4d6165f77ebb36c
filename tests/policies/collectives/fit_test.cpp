// The formula of an all-reduce's time: found again from times that follow it, and predictions for other
// numbers of ranks.
#include "policies/collectives/fit.hpp"

#include <gtest/gtest.h>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

constexpr std::int64_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};

double time_of(const std::string& schedule, const LinkCost& cost, int ranks, std::int64_t bytes) {
  return price(catalog().find(schedule).make, ranks, bytes / 4, Bytes(4), cost).count();
}

/// Each is off by up to `noise`, relative.
std::vector<MeasuredTime> times_of(const std::string& schedule, const LinkCost& cost,
                                   const std::vector<int>& ranks, double noise, Rng& random) {
  std::vector<MeasuredTime> times;
  for (const int count : ranks)
    for (const std::int64_t bytes : sizes)
      times.push_back(
          {count, bytes, time_of(schedule, cost, count, bytes) * (1 + noise * (2 * random.uniform() - 1))});
  return times;
}

LinkCost random_cost(Rng& random) {
  return {Seconds(1e-5 + 1e-4 * random.uniform()), 1e-9 + 1e-8 * random.uniform(), 1e-9 * random.uniform(),
          Seconds(1e-3 * random.uniform())};
}

void expect_predictions(const FittedCost& fitted, const std::string& schedule, const LinkCost& cost,
                        double tolerance, const std::vector<int>& numbers_of_ranks = {2, 3, 4, 5, 6, 7, 8}) {
  for (const int ranks : numbers_of_ranks)
    for (const std::int64_t bytes : sizes)
      EXPECT_NEAR(predict(fitted, ranks, bytes).count() / time_of(schedule, cost, ranks, bytes), 1.0,
                  tolerance)
          << schedule << ", " << ranks << " ranks, " << bytes << " bytes, by " << fitted.choice(ranks, bytes);
}

TEST(Fit, OfTwoNumbersOfRanksPredictsAllOthersOfARing) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const LinkCost cost = random_cost(random);
    for (const auto& ranks : {std::vector{2, 4}, std::vector{2, 5}, std::vector{3, 8}})
      expect_predictions(fit(times_of("ring", cost, ranks, 0.0, random)), "ring", cost, 1e-4);
  }
}

/// Recursive doubling has the same traffic among some numbers of ranks, but not the same hops.
TEST(Fit, OfThreeNumbersOfRanksTellsATreeFromOthers) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const LinkCost cost = random_cost(random);
    const FittedCost fitted = fit(times_of("tree", cost, {2, 3, 8}, 0.0, random));
    EXPECT_EQ(fitted.choice(8, 1 << 20), "tree");
    EXPECT_LT(fitted.mean_error, 1e-6);
    expect_predictions(fitted, "tree", cost, 1e-6);
  }
}

TEST(Fit, OfEverySchedulesTimesFitsThem) {
  Rng random(1);
  for (const auto& entry : catalog().entries()) {
    if (takes_groups(entry.make)) continue;
    const FittedCost fitted = fit(times_of(entry.name, random_cost(random), {2, 3, 4, 7}, 0.0, random));
    // Not zero where one cost hides behind another, as in binary blocks.
    EXPECT_LT(fitted.mean_error, 1e-2) << entry.name << " by " << fitted.choice(7, 1 << 20);
  }
}

TEST(Fit, OfNoisyTimesPredictsWithinTheNoise) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const LinkCost cost{Seconds(1e-4), 8e-8, 1e-9, Seconds(1e-3)};
    const FittedCost fitted = fit(times_of("ring", cost, {2, 5}, 0.03, random));
    expect_predictions(fitted, "ring", cost, 0.1);
  }
}

/// Two and eight ranks alone would not tell that five send the vector twice more than four.
TEST(Fit, OfALibrarysSchedulesPredictsWhereItChangesThem) {
  const auto choice = library_choice("tandem 0.1.0, Open MPI v4.1.4, package: Debian OpenMPI");
  ASSERT_TRUE(choice);
  EXPECT_FALSE(library_choice("tandem 0.1.0, Open MPI v5.0.3"));
  EXPECT_EQ((*choice)(2, 64 << 10), "ring");
  EXPECT_EQ((*choice)(3, 1 << 20), "tree");
  EXPECT_EQ((*choice)(4, 64 << 10), "halving-doubling");
  EXPECT_EQ((*choice)(8, 4), "recursive-doubling");
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const LinkCost cost = random_cost(random);
    std::vector<MeasuredTime> times;
    for (const int ranks : {2, 8})
      for (const std::int64_t bytes : sizes)
        times.push_back({ranks, bytes, time_of((*choice)(ranks, bytes), cost, ranks, bytes)});
    const FittedCost fitted = fit(times, *choice);
    EXPECT_LT(fitted.mean_error, 1e-4);
    expect_predictions(fitted, "halving-doubling", cost, 1e-3, {4, 5, 6, 7, 8});
  }
}

TEST(Fit, HasNoNegativeCosts) {
  // Times that fall with the size.
  const std::vector<MeasuredTime> times = {
      {2, 4096, 2.0}, {2, 1 << 20, 1.0}, {4, 4096, 2.0}, {4, 1 << 20, 1.0}};
  const FittedCost fitted = fit(times);
  EXPECT_GE(fitted.cost.start.count(), 0.0);
  EXPECT_GE(fitted.cost.alpha.count(), 0.0);
  EXPECT_GE(fitted.cost.beta, 0.0);
  EXPECT_GE(fitted.cost.gamma, 0.0);
  EXPECT_GT(fitted.mean_error, 0.2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
