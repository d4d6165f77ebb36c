// Kaplan-Meier, Nelson-Aalen, restricted mean, log-rank test and correlation index: worked examples,
// identities, and closed forms.
#include "policies/lifetimes/estimate/survival.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "policies/lifetimes/estimate/correlation.hpp"
#include "tests/policies/lifetimes/made.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

/// 1, 2, 2+, 3, 5+, 8 (+: censored).
const std::vector<Observation>& worked() {
  static const std::vector<Observation> all = {{1, true}, {2, true},  {2, false},
                                               {3, true}, {5, false}, {8, true}};
  return all;
}

TEST(KaplanMeier, WorkedExampleToItsDigits) {
  const auto curve = kaplan_meier(worked());
  ASSERT_EQ(curve.steps.size(), 4U);
  const double times[] = {1, 2, 3, 8}, at_risk[] = {6, 5, 3, 1};
  const double survival[] = {5.0 / 6, 2.0 / 3, 4.0 / 9, 0};
  const double errors[] = {.1521, .1925, .2222};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(curve.steps[i].time, times[i]);
    EXPECT_EQ(curve.steps[i].at_risk, at_risk[i]);
    EXPECT_NEAR(curve.steps[i].survival, survival[i], 1e-12);
    if (i < 3) {
      EXPECT_NEAR(curve.steps[i].error, errors[i], 5e-5);
    }
  }
  EXPECT_TRUE(std::isnan(curve.steps[3].error));
  EXPECT_NEAR(curve.steps[3].cumulative_hazard, 1.0 / 6 + 1.0 / 5 + 1.0 / 3 + 1.0, 1e-12);
  EXPECT_NEAR(restricted_mean(curve, 6.0).value, 3.8333, 5e-5);
  EXPECT_EQ(curve.survival(2.9), curve.steps[1].survival);
  EXPECT_EQ(curve.survival(0.5), 1.0);
  EXPECT_EQ(curve.time_of_survival(0.5), 3.0);
}

/// log(-log S) +- z error / (S |log S|), by hand for S(1) = 5/6: z = 1.959964.
TEST(KaplanMeier, IntervalsAreSymmetricInLogMinusLog) {
  const auto& step = kaplan_meier(worked()).steps[0];
  const double centre = std::log(-std::log(5.0 / 6)),
               half = 1.959964 * std::sqrt(1.0 / 30) / -std::log(5.0 / 6);
  EXPECT_NEAR(std::log(-std::log(step.lower)), centre + half, 1e-6);
  EXPECT_NEAR(std::log(-std::log(step.upper)), centre - half, 1e-6);
}

/// sum over steps of (area behind)^2 d / (n (n-d)), by hand.
TEST(KaplanMeier, RestrictedMeanHasItsStandardError) {
  const double behind_3 = 4.0 / 9 * 3, behind_2 = behind_3 + 2.0 / 3, behind_1 = behind_2 + 5.0 / 6;
  const double variance = behind_1 * behind_1 / 30 + behind_2 * behind_2 / 20 + behind_3 * behind_3 / 6;
  EXPECT_NEAR(restricted_mean(kaplan_meier(worked()), 6.0).error, std::sqrt(variance), 1e-12);
}

TEST(KaplanMeier, WithoutCensoringIsTheEmpiricalDistribution) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    auto values = drawn("weibull", {{"scale", 100.0}}, 57, seed);
    for (double& value : values) value = std::ceil(value / 5.0);  // with ties
    std::vector<Observation> observations;
    double sum = 0.0;
    for (const double value : values) observations.push_back({value, true}), sum += value;
    const auto curve = kaplan_meier(observations);
    for (const double t : values) {
      const auto above = std::ranges::count_if(values, [t](double value) { return value > t; });
      EXPECT_NEAR(curve.survival(t), static_cast<double>(above) / 57.0, 1e-12);
    }
    EXPECT_NEAR(restricted_mean(curve, 1e6).value, sum / 57.0, 1e-6) << "the mean";
  }
}

TEST(KaplanMeier, WeightsAreMachines) {
  const auto once = kaplan_meier({{3, true, 0, 2}, {5, false, 0, 3}, {7, true}});
  const auto many = kaplan_meier({{3, true}, {3, true}, {5, false}, {5, false}, {5, false}, {7, true}});
  ASSERT_EQ(once.steps.size(), many.steps.size());
  for (std::size_t i = 0; i < once.steps.size(); ++i)
    EXPECT_EQ(once.steps[i].survival, many.steps[i].survival);
}

/// A machine that is observed from age 2 on is at risk at 3, not at 1 and not at 2.
TEST(KaplanMeier, TruncatedMachinesJoinAtTheirEntry) {
  const auto curve = kaplan_meier({{1, true}, {2, true}, {3, true}, {9, false, 2}});
  EXPECT_EQ(curve.steps[0].at_risk, 3.0);
  EXPECT_EQ(curve.steps[1].at_risk, 2.0);
  EXPECT_EQ(curve.steps[2].at_risk, 2.0);
}

/// Machines found running, those that died before not seen, give the curve of all machines.
TEST(KaplanMeier, TruncationIsUndone) {
  Rng rng(5);
  std::vector<Observation> seen;
  for (const double lifetime : drawn("weibull", {{"shape", 0.6}, {"scale", 1000.0}}, 40'000, 2)) {
    const double entry = rng.uniform() < 0.5 ? 0.0 : 800.0 * rng.uniform();
    if (entry < lifetime) seen.push_back({lifetime, true, entry});
  }
  const auto curve = kaplan_meier(seen);
  for (const double t : {50.0, 300.0, 1000.0, 3000.0})
    EXPECT_NEAR(curve.survival(t), std::exp(-std::pow(t / 1000.0, 0.6)), 0.015) << t;
}

TEST(KaplanMeier, OneMachineAndNoDeaths) {
  const auto one = kaplan_meier({{4, true}});
  ASSERT_EQ(one.steps.size(), 1U);
  EXPECT_EQ(one.steps[0].survival, 0.0);
  EXPECT_EQ(restricted_mean(one, 10.0).value, 4.0);
  const auto none = kaplan_meier({{4, false}, {6, false}});
  EXPECT_TRUE(none.steps.empty());
  EXPECT_EQ(none.survival(5.0), 1.0);
  EXPECT_EQ(restricted_mean(none, 6.0).value, 6.0);
  EXPECT_TRUE(std::isinf(none.time_of_survival(0.5)));
}

/// Two groups of two, by hand: deaths at 1, 2 | 3, 4. Expected in the first: 1/2 + 1/3; variance 1/4 + 2/9.
TEST(LogRankTest, OfFourMachinesByHand) {
  const auto test = log_rank({{{1, true}, {2, true}}, {{3, true}, {4, true}}});
  EXPECT_EQ(test.degrees, 1);
  EXPECT_NEAR(test.expected[0], 5.0 / 6, 1e-12);
  EXPECT_NEAR(test.observed[0], 2.0, 1e-12);
  const double difference = 2.0 - 5.0 / 6;
  EXPECT_NEAR(test.statistic, difference * difference / (1.0 / 4 + 2.0 / 9), 1e-12);
  EXPECT_NEAR(test.p_value, std::erfc(std::sqrt(test.statistic / 2.0)), 1e-9);
}

TEST(LogRankTest, RejectsEqualGroupsAsOftenAsItSays) {
  int rejected = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    std::vector<std::vector<Observation>> groups;
    for (std::uint64_t group = 0; group < 3; ++group)
      groups.push_back(
          observed(drawn("weibull", {{"scale", 100.0}}, 40, 3 * seed + group), 150.0, 3 * seed + group));
    rejected += log_rank(groups).p_value < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(rejected, 50, 4 * std::sqrt(1000 * 0.05 * 0.95));
}

TEST(LogRankTest, FindsThatGroupsDiffer) {
  const auto slow = observed(drawn("exponential", {{"mean", 300.0}}, 200, 1), 500.0, 1);
  const auto fast = observed(drawn("exponential", {{"mean", 100.0}}, 200, 2), 500.0, 2);
  EXPECT_LT(log_rank({slow, fast}).p_value, 1e-6);
  EXPECT_EQ(log_rank({slow}).degrees, 0);
  EXPECT_EQ(log_rank({slow, {}}).degrees, 0) << "an empty group does not count";
}

/// Deaths of slots that are filled again at once, on the clock.
std::vector<Presence> presences(const Given& options, std::uint64_t seed) {
  constexpr std::size_t slots = 20;
  constexpr double until = 3e6;
  const auto fates = make_fates("shocks", options, seed, std::vector<std::size_t>(slots, 0));
  std::vector<Presence> all;
  std::vector<double> begins(slots, 0.0);
  std::vector<std::int64_t> incarnations(slots, 1);
  for (std::size_t slot = 0; slot < slots; ++slot) fates->arrive({slot, 1}, 0.0);
  while (true) {
    const auto departure = fates->next();
    if (departure->time > until) break;
    const std::size_t slot = departure->occupant.slot;
    all.push_back({begins[slot], departure->time, true, 0});
    fates->depart(slot, departure->time);
    fates->arrive({slot, ++incarnations[slot]}, begins[slot] = departure->time);
  }
  for (const double begin : begins) all.push_back({begin, until, false, 0});
  return all;
}

TEST(CorrelationIndexTest, IsOneForIndependentDeathsAndLargeForShocks) {
  const auto independent = correlation_index(presences({{"mean", 20000.0}, {"chance", 0.0}}, 1));
  EXPECT_NEAR(independent.index, 1.0, 4 / std::sqrt(independent.expected));
  EXPECT_GT(independent.expected, 100.0);
  const auto shocked =
      correlation_index(presences({{"mean", 40000.0}, {"shock_mean", 20000.0}, {"chance", 0.5}}, 1));
  EXPECT_GT(shocked.index, 5.0);
}

TEST(CorrelationIndexTest, ComparesOnlyDeathsOfOneZone) {
  const std::vector<Presence> all = {
      {0, 100, true, 0}, {0, 130, true, 0}, {0, 131, true, 1}, {0, 400, true, 0}};
  EXPECT_EQ(correlation_index(all).pairs, 1);
  EXPECT_TRUE(std::isnan(correlation_index({{0, 100, true, 0}}).index)) << "one machine has no pair";
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
