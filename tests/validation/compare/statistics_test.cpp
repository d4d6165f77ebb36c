// Statistics against values known from closed forms and from the literature.
#include "validation/compare/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

Series constant(double value, std::size_t positions) {
  return {std::vector<double>(positions, value), std::vector<double>(positions, 1.0)};
}

TEST(RelativeError, IsSignedAndHandlesZero) {
  EXPECT_DOUBLE_EQ(relative_error(1.5, 1), 0.5);
  EXPECT_DOUBLE_EQ(relative_error(1, 2), -0.5);
  EXPECT_EQ(relative_error(0, 0), 0);
  EXPECT_TRUE(std::isnan(relative_error(1, 0)));
}

TEST(Pearson, AgreesWithKnownValues) {
  EXPECT_NEAR(*pearson({1, 2, 3}, {10, 20, 30}), 1, 1e-12);
  EXPECT_NEAR(*pearson({1, 2, 3}, {-3, -6, -9}), -1, 1e-12);
  // Deviations (-1, 0, 1) and (-4, -1, 5) / 3: 3 / sqrt(2 * 42 / 9).
  EXPECT_NEAR(*pearson({1, 2, 3}, {1, 2, 4}), 3 / std::sqrt(2.0 * 42 / 9), 1e-12);
  EXPECT_FALSE(pearson({1, 2}, {1, 2}));
  EXPECT_FALSE(pearson({1, 1, 1}, {1, 2, 3}));
}

TEST(Spearman, AgreesWithKnownValues) {
  // Ten students' IQ and hours of television a week, a textbook example: rho = -29/165.
  const std::vector<double> iq = {106, 86, 100, 101, 99, 103, 97, 113, 112, 110};
  const std::vector<double> hours = {7, 0, 27, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(*spearman(iq, hours), -29.0 / 165, 1e-12);
  EXPECT_NEAR(*spearman({1, 2, 3}, {10, 20, 30}), 1, 1e-12);
  EXPECT_NEAR(*spearman({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  // Ties share the mean rank: ranks 1.5 1.5 3 against 1 2 3.
  EXPECT_NEAR(*spearman({1, 1, 2}, {1, 2, 3}), std::sqrt(3.0) / 2, 1e-12);
  for (const auto& unrelated : {std::vector<double>{2, 4, 1, 3}, {3, 1, 4, 2}})
    EXPECT_EQ(*spearman({1, 2, 3, 4}, unrelated), 0.0);
  EXPECT_FALSE(spearman({1}, {1}));
  EXPECT_FALSE(spearman({1, 1}, {1, 2}));
}

std::vector<double> drawn(Rng& rng, std::size_t count, bool ties) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(ties ? static_cast<double>(rng.below(5)) : rng.uniform());
  return values;
}

TEST(Kendall, AgreesWithClosedForms) {
  EXPECT_NEAR(*kendall({1, 2, 3}, {10, 20, 30}), 1, 1e-12);
  EXPECT_NEAR(*kendall({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_NEAR(*kendall({1, 2, 3, 4}, {1, 2, 4, 3}), 4.0 / 6, 1e-12);
  // One tie in the first: two of three pairs count there, so 2 / sqrt(2 * 3).
  EXPECT_NEAR(*kendall({1, 1, 2}, {1, 2, 3}), 2 / std::sqrt(6.0), 1e-12);
  EXPECT_FALSE(kendall({1}, {1}));
  EXPECT_FALSE(kendall({2, 2}, {1, 2}));
}

TEST(Kendall, WithoutTiesCountsTheSwapsOfABubbleSort) {
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const std::size_t n = 2 + rng.below(20);
    std::vector<double> places(n);
    for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<double>(i);
    auto values = places;
    rng.shuffle(values);
    auto sorting = values;
    int swaps = 0;
    for (std::size_t pass = 0; pass < n; ++pass)
      for (std::size_t i = 1; i < n; ++i)
        if (sorting[i - 1] > sorting[i]) {
          std::swap(sorting[i - 1], sorting[i]);
          ++swaps;
        }
    const auto pairs = static_cast<double>(n * (n - 1)) / 2;
    EXPECT_NEAR(*kendall(places, values), 1 - 2 * swaps / pairs, 1e-12);
  }
}

TEST(Distances, AgreeWithClosedForms) {
  EXPECT_EQ(kolmogorov_distance({1, 2, 3}, {3, 1, 2}), 0);
  EXPECT_EQ(kolmogorov_distance({1, 2, 3}, {4, 5}), 1);
  EXPECT_DOUBLE_EQ(kolmogorov_distance({1, 2, 3, 4}, {3, 4, 5, 6}), 0.5);
  EXPECT_EQ(wasserstein_distance({1, 2, 3}, {3, 1, 2}), 0);
  EXPECT_DOUBLE_EQ(wasserstein_distance({1, 2, 3}, {2, 3, 4}), 1);
  EXPECT_DOUBLE_EQ(wasserstein_distance({0}, {0, 1, 2, 3}), 1.5);
}

TEST(Distances, AgreeWithBruteForce) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto a = drawn(rng, 1 + rng.below(12), seed % 2 == 0),
               b = drawn(rng, 1 + rng.below(12), seed % 2 == 0);
    const auto share = [](const std::vector<double>& values, double at) {
      double count = 0;
      for (const double value : values) count += value <= at;
      return count / static_cast<double>(values.size());
    };
    double largest = 0;
    for (const auto* values : {&a, &b})
      for (const double at : *values) largest = std::max(largest, std::abs(share(a, at) - share(b, at)));
    EXPECT_NEAR(kolmogorov_distance(a, b), largest, 1e-12);
    // Repeat values so that both sides have equal numbers: then sorted values are matched one to one.
    std::vector<double> left, right;
    for (const double value : a) left.insert(left.end(), b.size(), value);
    for (const double value : b) right.insert(right.end(), a.size(), value);
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    double sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) sum += std::abs(left[i] - right[i]);
    EXPECT_NEAR(wasserstein_distance(a, b), sum / static_cast<double>(left.size()), 1e-12);
  }
}

TEST(Bootstrap, MeansOfConfigurationsSpreadAsTheStandardErrorSays) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    std::vector<double> values;
    for (int i = 0; i < 100; ++i) values.push_back(rng.normal());
    double mean = 0, square = 0;
    for (const double value : values) mean += value / 100;
    for (const double value : values) square += (value - mean) * (value - mean) / 100;
    const auto interval = percentile_interval(resampled_means(values, {.seed = seed}), 0.9);
    const double half = 1.6449 * std::sqrt(square / 100);
    EXPECT_NEAR(interval->low, mean - half, 0.15 * half);
    EXPECT_NEAR(interval->high, mean + half, 0.15 * half);
  }
  EXPECT_TRUE(resampled_means({1}, {}).empty());
}

TEST(NoiseFloor, ComparesEachRunWithTheOthers) {
  EXPECT_FALSE(noise_floor({5}));
  EXPECT_DOUBLE_EQ(*noise_floor({5, 5, 5}), 0);
  // |90 - 110| / 110 and |110 - 90| / 90.
  EXPECT_DOUBLE_EQ(*noise_floor({90, 110}), (20.0 / 110 + 20.0 / 90) / 2);
}

TEST(Bootstrap, ConstantSeriesGiveAnIntervalOfOnePoint) {
  const auto errors = resampled_errors(constant(11, 30), {constant(10, 30)}, {});
  EXPECT_EQ(errors.size(), 10'000U);
  const auto interval = percentile_interval(errors, 0.95);
  EXPECT_NEAR(interval->low, 0.1, 1e-12);
  EXPECT_NEAR(interval->high, 0.1, 1e-12);
}

TEST(Bootstrap, IsReproducibleAndDependsOnTheSeed) {
  Series noisy = constant(10, 50);
  for (std::size_t i = 0; i < 50; ++i) noisy.sums[i] += static_cast<double>(i % 7);
  const auto once = resampled_errors(constant(10, 50), {noisy}, {.resamples = 100, .seed = 3});
  EXPECT_EQ(once, resampled_errors(constant(10, 50), {noisy}, {.resamples = 100, .seed = 3}));
  EXPECT_NE(once, resampled_errors(constant(10, 50), {noisy}, {.resamples = 100, .seed = 4}));
}

TEST(Bootstrap, TooFewValuesGiveNoInterval) {
  EXPECT_TRUE(resampled_errors(constant(1, 1), {constant(1, 1)}, {}).empty());
  EXPECT_TRUE(resampled_errors(1.0, {1.0}, {}).empty());
  EXPECT_FALSE(percentile_interval({}, 0.95));
}

TEST(Bootstrap, SeriesOfDifferentLengthsAreResampled) {
  const auto errors = resampled_errors(constant(12, 40), {constant(10, 31), constant(10, 37)}, {});
  EXPECT_NEAR(percentile_interval(errors, 0.95)->high, 0.2, 1e-12);
}

TEST(Bootstrap, NoiseCommonToBothSeriesCancels) {
  Rng rng(7);
  Series simulated = constant(0, 200), measured = constant(0, 200);
  for (std::size_t i = 0; i < 200; ++i) {
    measured.sums[i] = 10 + 2 * rng.uniform();
    simulated.sums[i] = measured.sums[i] * 1.05;
  }
  const auto interval = percentile_interval(resampled_errors(simulated, {measured}, {}), 0.95);
  EXPECT_NEAR(interval->low, 0.05, 1e-9);
  EXPECT_NEAR(interval->high, 0.05, 1e-9);
}

TEST(Bootstrap, IntervalsHaveTheirNominalCoverage) {
  int covered = 0;
  const int trials = 200;
  for (const auto seed : testing::seeds(trials)) {
    Rng rng(seed);
    Series measured = constant(0, 120);
    for (auto& sum : measured.sums) sum = 10 * (1 + 0.1 * rng.normal());
    const auto interval = percentile_interval(
        resampled_errors(constant(11, 120), {measured}, {.resamples = 500, .seed = seed}), 0.95);
    covered += interval->low <= 0.1 && 0.1 <= interval->high;
  }
  if (testing::seeds(trials).size() < trials) GTEST_SKIP() << "a rate needs all seeds";
  // 190 expected; blocks make the interval slightly too narrow. The limit is 5 standard deviations of a fair
  // coin lower.
  EXPECT_GE(covered, 174) << "of " << trials;
}

TEST(Bootstrap, RunsGiveTheRangeOfTheirMeans) {
  const auto interval = percentile_interval(resampled_errors(10, {8, 10, 12.5}, {}), 1.0);
  EXPECT_NEAR(interval->low, 10 / 12.5 - 1, 1e-12);
  EXPECT_NEAR(interval->high, 10 / 8.0 - 1, 1e-12);
}

TEST(Equivalence, IsDecidedByThe90PercentInterval) {
  EXPECT_EQ(equivalence({0.01, 0.02, 0.03}, 0.1), Equivalence::equivalent);
  EXPECT_EQ(equivalence({0.21, 0.22, 0.23}, 0.1), Equivalence::different);
  EXPECT_EQ(equivalence({-0.4, -0.35, -0.3}, 0.1), Equivalence::different);
  EXPECT_EQ(equivalence({0.05, 0.1, 0.15}, 0.1), Equivalence::inconclusive);
  EXPECT_FALSE(equivalence({}, 0.1));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
