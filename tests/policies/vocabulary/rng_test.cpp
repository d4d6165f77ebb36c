// Random numbers: known sequences, independent streams, and their distributions.
#include "policies/vocabulary/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// Pearson's statistic for counts with equal expected values.
double chi_squared(const std::vector<int>& counts) {
  const double expected = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0)) /
                          static_cast<double>(counts.size());
  double sum = 0.0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

/// Four standard deviations above the mean of the chi-squared distribution for this number of counts.
double chi_squared_limit(std::size_t counts) {
  const double freedom = static_cast<double>(counts) - 1.0;
  return freedom + 4.0 * std::sqrt(2.0 * freedom);
}

TEST(Rng, GivesTheReferenceValuesOfXoshiro256StarStarSeededBySplitMix64) {
  Rng zero(0);
  for (const std::uint64_t expected :
       {0x99ec5f36cb75f2b4ULL, 0xbf6e1f784956452aULL, 0x1a5f849d4933e6e0ULL, 0x6aa594f1262d2d2cULL})
    EXPECT_EQ(zero.next(), expected);
  Rng other(42);
  for (const std::uint64_t expected :
       {0x15780b2e0c2ec716ULL, 0x6104d9866d113a7eULL, 0xae17533239e499a1ULL, 0xecb8ad4703b360a1ULL})
    EXPECT_EQ(other.next(), expected);
}

TEST(Rng, BelowStaysBelowAndIsUniform) {
  for (const auto seed : testing::seeds(5)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    for (const std::size_t bound : {1U, 2U, 3U, 7U, 10U, 100U}) {
      std::vector<int> counts(bound);
      for (int draw = 0; draw < 20'000; ++draw) {
        const std::uint64_t value = rng.below(bound);
        ASSERT_LT(value, bound);
        ++counts[value];
      }
      EXPECT_LE(chi_squared(counts), chi_squared_limit(bound)) << "bound " << bound;
    }
  }
}

TEST(Rng, BelowIsUnbiasedForBoundsNearTheFullRange) {
  // Without rejection, a bound of 3/4 of the range would make the lower part of the range too frequent.
  Rng rng(3);
  const std::uint64_t bound = 3ULL << 62;
  std::vector<int> thirds(3);
  for (int draw = 0; draw < 30'000; ++draw) ++thirds[rng.below(bound) >> 62];
  EXPECT_LE(chi_squared(thirds), chi_squared_limit(3));
}

TEST(Rng, UniformIsInTheHalfOpenUnitInterval) {
  Rng rng(9);
  std::vector<int> counts(20);
  for (int draw = 0; draw < 40'000; ++draw) {
    const double value = rng.uniform();
    ASSERT_TRUE(value >= 0.0 && value < 1.0);
    ++counts[static_cast<std::size_t>(value * 20)];
  }
  EXPECT_LE(chi_squared(counts), chi_squared_limit(20));
}

TEST(Rng, NormalHasTheMomentsOfAStandardNormal) {
  Rng rng(4);
  constexpr int draws = 100'000;
  std::array<double, 5> moments{};
  for (int draw = 0; draw < draws; ++draw) {
    const double value = rng.normal();
    ASSERT_TRUE(std::isfinite(value));
    for (std::size_t power = 1; power < moments.size(); ++power)
      moments[power] += std::pow(value, static_cast<double>(power)) / draws;
  }
  // Standard deviations of the means: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n); four of each.
  EXPECT_NEAR(moments[1], 0.0, 0.0127);
  EXPECT_NEAR(moments[2], 1.0, 0.0179);
  EXPECT_NEAR(moments[3], 0.0, 0.049);
  EXPECT_NEAR(moments[4], 3.0, 0.124);
}

TEST(Rng, ShuffleIsAPermutation) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    std::vector<int> items(rng.below(200));
    std::iota(items.begin(), items.end(), 0);
    auto shuffled = items;
    rng.shuffle(shuffled);
    std::sort(shuffled.begin(), shuffled.end());
    EXPECT_EQ(shuffled, items);
  }
}

TEST(Rng, ShuffleGivesEveryOrderEquallyOften) {
  Rng rng(6);
  std::map<std::vector<int>, int> orders;
  for (int draw = 0; draw < 24'000; ++draw) {
    std::vector<int> items = {0, 1, 2, 3};
    rng.shuffle(items);
    ++orders[items];
  }
  ASSERT_EQ(orders.size(), 24U);
  std::vector<int> counts;
  for (const auto& order : orders) counts.push_back(order.second);
  EXPECT_LE(chi_squared(counts), chi_squared_limit(24));
}

TEST(Rng, StreamsDifferByPurposeIndexAndSeedAndAreReproducible) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const char* purpose : {"shuffle", "split", "noise"})
      for (std::uint64_t index = 0; index < 10; ++index)
        firsts.insert(Rng::stream(seed, purpose, index).next());
  EXPECT_EQ(firsts.size(), 300U);
  EXPECT_EQ(Rng::stream(1, "noise", 2).next(), Rng::stream(1, "noise", 2).next());
}

}  // namespace TANDEM_FILE
}  // namespace tandem
