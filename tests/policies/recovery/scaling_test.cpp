// Factors on the learning rate, and shares of a global batch.
#include "policies/recovery/scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::recovery {
namespace TANDEM_FILE {

TEST(RateFactor, FollowsTheRule) {
  EXPECT_DOUBLE_EQ(rate_factor(RateScale::keep, 8, 2), 1.0);
  EXPECT_DOUBLE_EQ(rate_factor(RateScale::linear, 8, 2), 0.25);
  EXPECT_DOUBLE_EQ(rate_factor(RateScale::sqrt, 8, 2), 0.5);
  EXPECT_DOUBLE_EQ(rate_factor(RateScale::inverse_sqrt, 8, 2), 2.0);
  for (const auto rule : {RateScale::keep, RateScale::linear, RateScale::sqrt, RateScale::inverse_sqrt})
    for (const int workers : {1, 3, 4096}) EXPECT_EQ(rate_factor(rule, workers, workers), 1.0);
}

TEST(RateFactor, ChangesInOneStepAsInSeveral) {
  for (const auto rule : {RateScale::linear, RateScale::sqrt, RateScale::inverse_sqrt})
    EXPECT_DOUBLE_EQ(rate_factor(rule, 9, 5) * rate_factor(rule, 5, 2), rate_factor(rule, 9, 2));
}

TEST(RateRamp, MovesEvenlyToTheNewFactor) {
  RateRamp ramp(3);
  EXPECT_EQ(ramp.factor(1.0, 0), 1.0);
  EXPECT_EQ(ramp.factor(0.6, 10), 0.9);
  EXPECT_DOUBLE_EQ(ramp.factor(0.6, 11), 0.8);
  EXPECT_EQ(ramp.factor(0.6, 11), ramp.factor(0.6, 11)) << "several updates of a round have one factor";
  EXPECT_DOUBLE_EQ(ramp.factor(0.6, 12), 0.7);
  EXPECT_EQ(ramp.factor(0.6, 13), 0.6);
  EXPECT_EQ(ramp.factor(0.6, 1000), 0.6);
}

/// A worker that comes back in the middle turns it round.
TEST(RateRamp, BeginsWhereTheLastOneWas) {
  RateRamp ramp(3);
  ramp.factor(0.6, 10);
  EXPECT_DOUBLE_EQ(ramp.factor(0.6, 11), 0.8);
  // Of the way from 0.7, which this update would have had.
  EXPECT_DOUBLE_EQ(ramp.factor(1.0, 12), 0.775);
  EXPECT_DOUBLE_EQ(ramp.factor(1.0, 15), 1.0);
}

TEST(RateRamp, OfNoRoundsIsAStep) {
  RateRamp ramp(0);
  EXPECT_FALSE(ramp.is_enabled());
  EXPECT_EQ(ramp.factor(0.25, 0), 0.25);
  EXPECT_EQ(ramp.factor(1.0, 1), 1.0);
}

TEST(RateRamp, WithTheSameStateIsTheSame) {
  RateRamp ramp(5), other(5);
  ramp.factor(0.5, 7);
  other.state() = ramp.state();
  for (const std::int64_t round : {8, 9, 12, 40})
    EXPECT_EQ(other.factor(0.5, round), ramp.factor(0.5, round));
}

TEST(Batches, AreKeptOrDealt) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(batches(BatchRule::keep, 32, 4, 3), (Sizes{32, 32, 32}));
  EXPECT_EQ(batches(BatchRule::global, 32, 4, 4), (Sizes{32, 32, 32, 32}));
  EXPECT_EQ(batches(BatchRule::global, 32, 4, 3), (Sizes{43, 43, 42}));
  EXPECT_EQ(batches(BatchRule::global, 1, 2, 3), (Sizes{1, 1, 0}));
}

TEST(Batches, ThatAreGlobalAddUpAndDifferByAtMostOne) {
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "batches");
    const auto batch = static_cast<std::int64_t>(1 + random.below(1000));
    const int workers = 1 + static_cast<int>(random.below(100)),
              members = 1 + static_cast<int>(random.below(100));
    const auto sizes = batches(BatchRule::global, batch, workers, members);
    EXPECT_EQ(sizes.size(), static_cast<std::size_t>(members));
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), batch * workers);
    EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>()));
    EXPECT_LE(sizes.front() - sizes.back(), 1);
  }
}

TEST(ScalingDeath, NeedsWorkers) {
  EXPECT_DEATH(rate_factor(RateScale::linear, 4, 0), "members 0");
  EXPECT_DEATH(batches(BatchRule::global, 0, 4, 4), "batch 0");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::recovery
