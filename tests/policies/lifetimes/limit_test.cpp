// Whether many machines end at one age: made lifetimes with and without a provider's limit.
#include "policies/lifetimes/estimate/limit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/estimate/fit.hpp"
#include "tests/policies/lifetimes/made.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

constexpr double day = 86400.0;

std::vector<Observation> died(const std::vector<double>& lifetimes) {
  std::vector<Observation> observations;
  for (const double lifetime : lifetimes) observations.push_back({.duration = lifetime, .died = true});
  return observations;
}

/// Machines that end some seconds before the limit, as providers end them.
TEST(CommonLimit, IsTheAgeAtWhichManyMachinesEnd) {
  auto lifetimes = drawn("exponential", {{"mean", 50'000.0}, {"limit", day}}, 400, 3);
  double ends = 0.0;
  for (auto& lifetime : lifetimes)
    if (lifetime >= day) {
      lifetime = day - 10.0 * std::fmod(ends, 4.0);
      ends += 1.0;
    }
  EXPECT_NEAR(ends, 400 * std::exp(-day / 50'000.0), 30);
  const auto observations = died(lifetimes);
  const auto limit = common_limit(observations);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->age, day);
  EXPECT_EQ(limit->ends, ends);
  const auto censored = censored_at(*limit, observations);
  EXPECT_EQ(std::ranges::count_if(censored, &Observation::died), 400 - static_cast<int>(ends));
  EXPECT_NEAR(fit("exponential", censored).parameters[0].value / 50'000.0, 1.0, 0.15);
}

TEST(CommonLimit, CountsEndsOfWhichTheTableSaysSo) {
  auto observations = died(drawn("weibull", {{"shape", 1.5}, {"scale", 20'000.0}}, 50, 1));
  std::erase_if(observations, [](const Observation& one) { return one.duration >= 0.9 * day; });
  const std::size_t earlier = observations.size();
  for (int i = 0; i < 6; ++i) observations.push_back({.duration = day, .at_limit = true});
  const auto limit = common_limit(observations);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->ends, 6.0);
  EXPECT_EQ(std::ranges::count_if(censored_at(*limit, observations), &Observation::died),
            static_cast<int>(earlier));
  // Those that are alive at the end of the observation say nothing of a limit.
  for (auto& one : observations) one.at_limit = false;
  EXPECT_FALSE(common_limit(observations));
}

TEST(CommonLimit, IsNoneOfSteepHazardsWholeHoursAndFewEnds) {
  EXPECT_FALSE(common_limit(died(drawn("weibull", {{"shape", 5.0}, {"scale", 50'000.0}}, 10'000, 2))));
  EXPECT_FALSE(common_limit(
      died(drawn("bathtub", {{"a", 0.45}, {"tau1", 3600.0}, {"tau2", 2880.0}, {"b", day}}, 10'000, 2))));
  std::vector<double> hours;
  for (int i = 0; i < 240; ++i) hours.push_back(3600.0 * (1 + i % 24));
  EXPECT_FALSE(common_limit(died(hours)));
  EXPECT_FALSE(common_limit(died({100.0, 2000.0, 50'000.0, day, day, day, day})));
  EXPECT_FALSE(common_limit(died(std::vector<double>(20, day)))) << "nothing is known of earlier ages";
  EXPECT_FALSE(common_limit({}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
