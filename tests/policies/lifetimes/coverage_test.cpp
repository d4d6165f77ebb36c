// How often intervals contain the truth, over 1,000 made tables of 100 machines, half of which are censored.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/lifetimes/estimate/fit.hpp"
#include "tests/policies/lifetimes/made.hpp"

namespace tandem::lifetimes {
namespace TANDEM_FILE {

constexpr std::uint64_t tables = 1000;

void expect_coverage(const std::string& model, const Given& options) {
  std::map<std::string, int> covered;
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    const auto observations = observed(drawn(model, options, 100, seed), 100.0, seed);
    auto fitted = fit(model, observations);
    add_profile_intervals(fitted, observations);
    for (const auto& [name, value, lower, upper] : fitted.parameters) {
      const double truth = std::get<double>(options.at(name));
      covered[name] += lower <= truth && truth <= upper ? 1 : 0;
    }
  }
  for (const auto& [name, count] : covered) {
    EXPECT_GE(count, 930) << model << ' ' << name;
    EXPECT_LE(count, 970) << model << ' ' << name;
  }
}

TEST(LongCoverage, OfProfileIntervalsIs95Percent) {
  expect_coverage("exponential", {{"mean", 100.0}});
  expect_coverage("weibull", {{"shape", 0.7}, {"scale", 100.0}});
  expect_coverage("weibull", {{"shape", 2.0}, {"scale", 100.0}});
}

TEST(Coverage, OfKaplanMeierAndOfTheMeanIs95Percent) {
  int survival = 0, mean = 0;
  const auto truth = make_lifetime("weibull", {{"shape", 0.7}, {"scale", 100.0}});
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    const auto curve =
        kaplan_meier(observed(drawn("weibull", {{"shape", 0.7}, {"scale", 100.0}}, 100, seed), 100.0, seed));
    const auto after = std::ranges::upper_bound(curve.steps, 60.0, {}, &SurvivalStep::time);
    const auto& step = *(after - 1);
    survival += step.lower <= truth->survival(60.0) && truth->survival(60.0) <= step.upper ? 1 : 0;
    const auto estimate = restricted_mean(curve, 60.0);
    mean += estimate.lower <= truth->mean_up_to(60.0) && truth->mean_up_to(60.0) <= estimate.upper ? 1 : 0;
  }
  EXPECT_GE(survival, 930);
  EXPECT_LE(survival, 970);
  EXPECT_GE(mean, 930);
  EXPECT_LE(mean, 970);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::lifetimes
