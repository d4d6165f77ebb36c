// The estimate of the time that is left.
#include "cli/time_left.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>


namespace tandem::cli {
namespace {

TEST(TimeLeft, OfSteadyWorkIsExactWhateverTheStartTook) {
  TimeLeft left;
  EXPECT_EQ(left.update(20.0, 0.0), std::nullopt);
  EXPECT_EQ(left.update(24.0, 0.1), std::nullopt) << "one point says nothing about the speed";
  EXPECT_DOUBLE_EQ(*left.update(28.0, 0.5), 5.0);
  EXPECT_DOUBLE_EQ(*left.update(31.0, 0.8), 2.0);
  EXPECT_DOUBLE_EQ(*left.update(33.0, 1.0), 0.0);
}

TEST(TimeLeft, NeverRises) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> seconds(0.1), share(50.0);
    TimeLeft left;
    double elapsed_s = 0.0, fraction = 0.0;
    std::optional<double> before;
    while (fraction < 1.0) {
      const auto now = left.update(elapsed_s, fraction);
      if (before) {
        ASSERT_TRUE(now) << "seed " << seed;
        ASSERT_LE(*now, *before) << "seed " << seed;
      }
      before = now;
      elapsed_s += seconds(random);
      fraction = std::min(1.0, fraction + share(random));
    }
    EXPECT_EQ(left.update(elapsed_s, 1.0), 0.0) << "seed " << seed;
  }
}

TEST(TimeLeft, OfWorkThatBecomesFasterFalls) {
  TimeLeft left;
  left.update(0.0, 0.1);
  const double slow = *left.update(10.0, 0.2);
  EXPECT_LT(*left.update(11.0, 0.6), slow / 4);
}

}  // namespace
}  // namespace tandem::cli
