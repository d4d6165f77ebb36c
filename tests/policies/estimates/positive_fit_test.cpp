// Numbers found in tables of times: recovered, not determined, beside rows that no numbers explain, and from
// starts at which slopes lead away from them.
#include "policies/estimates/positive_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"

namespace tandem::estimates {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Numbers = std::vector<double>;

/// Times of messages of several sizes over a link.
struct Link {
  std::vector<double> sizes;
  Numbers times(double latency_s, double rate) const {
    Numbers found;
    for (const double size : sizes) found.push_back(latency_s + size / rate);
    return found;
  }
};
const Link wide{{1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}};
const Link large{{1e7, 2e7, 5e7, 1e8}};

PositiveFit fit(const Link& link, const Numbers& measured) {
  return fit_positive({{"latency", 1e-3, 5e-5}, {"rate", 1e7, 1e9}}, measured,
                      [&](const Numbers& of) { return link.times(of[0], of[1]); });
}

TEST(PositiveFit, FindsNumbersFarFromTheStart) {
  const PositiveFit found = fit(wide, wide.times(20e-6, 3e9));
  EXPECT_NEAR(found.numbers[0].value, 20e-6, 1e-9);
  EXPECT_NEAR(found.numbers[1].value, 3e9, 1e5);
  EXPECT_LT(found.error, 1e-6);
  EXPECT_THAT(found.missed, IsEmpty());
  for (const FitEstimate& number : found.numbers) EXPECT_TRUE(number.is_determined) << number.name;
}

/// Large messages say nothing of a latency, which stays as it is given.
TEST(PositiveFit, KeepsWhatTheRowsDoNotDetermine) {
  const PositiveFit found = fit(large, large.times(20e-6, 3e9));
  EXPECT_FALSE(found.numbers[0].is_determined);
  EXPECT_NEAR(found.numbers[0].value, 5e-5, 1e-12);
  EXPECT_TRUE(found.numbers[1].is_determined);
  EXPECT_NEAR(found.numbers[1].value, 3e9, 3e7);
}

/// Two numbers whose sum alone counts: the first one has it.
TEST(PositiveFit, GivesASumToTheFirstOfItsNumbers) {
  const PositiveFit found =
      fit_positive({{"send", 1.0, 0.0}, {"receive", 1.0, 0.0}}, {3.0, 6.0, 9.0}, [](const Numbers& of) {
        return Numbers{of[0] + of[1], 2 * (of[0] + of[1]), 3 * (of[0] + of[1])};
      });
  EXPECT_TRUE(found.numbers[0].is_determined);
  EXPECT_NEAR(found.numbers[0].value, 3.0, 1e-6);
  EXPECT_FALSE(found.numbers[1].is_determined);
  EXPECT_EQ(found.numbers[1].value, 0.0);
}

/// Intervals of 95 % hold the truth in 95 % of tables: of 200, 190 with a standard deviation of 3.
TEST(PositiveFit, IntervalsHoldTheTruth) {
  Rng random = Rng::stream(3, "noise of tables");
  int held = 0;
  constexpr int tables = 200;
  for (int table = 0; table < tables; ++table) {
    Numbers measured = wide.times(20e-6, 3e9);
    for (double& time_s : measured) time_s *= std::exp(0.05 * random.normal());
    const FitEstimate rate = fit(wide, measured).numbers[1];
    held += rate.lower <= 3e9 && 3e9 <= rate.upper ? 1 : 0;
  }
  EXPECT_GE(held, 190 - 9);
  EXPECT_LE(held, 190 + 9);
}

/// Two numbers whose sum is nearly all that counts, and whose given values the rows contradict: an interval
/// has the values of all mixtures.
TEST(PositiveFit, IntervalsOfMixedNumbersHoldTheTruth) {
  const auto times = [](const Numbers& of) {
    Numbers found;
    for (int k = 1; k <= 8; ++k) found.push_back(k * (of[0] + of[1]) + 0.02 * k * k * of[1]);
    return found;
  };
  Rng random = Rng::stream(4, "noise of mixtures");
  int held = 0;
  constexpr int tables = 60;
  for (int table = 0; table < tables; ++table) {
    Numbers measured = times({2.0, 1.0});
    for (double& time_s : measured) time_s *= std::exp(0.02 * random.normal());
    const FitEstimate mixed =
        fit_positive({{"send", 1.0, 0.0}, {"receive", 1.0, 50.0}}, measured, times).numbers[1];
    EXPECT_TRUE(mixed.is_mixed);
    held += mixed.lower <= 1.0 && 1.0 <= mixed.upper ? 1 : 0;
  }
  EXPECT_GE(held, 0.9 * tables);
}

TEST(PositiveFit, NamesRowsThatItMisses) {
  Numbers measured = wide.times(20e-6, 3e9);
  measured[2] *= 1.5;
  EXPECT_THAT(fit(wide, measured).missed, ElementsAre(2U));
}

/// The limit of a server: below it, a time has no slope with the server's work; above, it has.
TEST(PositiveFit, BearsKinks) {
  const auto steps = [](double compute_s, double service_s) {
    Numbers times;
    for (const int workers : {1, 2, 4, 8, 16})
      times.push_back(std::max(compute_s + service_s, workers * service_s));
    return times;
  };
  for (const double service_s : {0.05, 0.1}) {
    const PositiveFit found =
        fit_positive({{"compute", 1.0, 1.0}, {"service", 1e-3, 0.0}}, steps(0.3, service_s),
                     [&](const Numbers& of) { return steps(of[0], of[1]); });
    EXPECT_LT(found.error, 1e-3) << service_s;
    EXPECT_NEAR(found.numbers[1].value / service_s, 1.0, 0.02) << service_s;
  }
}

/// A ripple whose slopes lead away from the answer around most starts: another start finds it.
TEST(PositiveFit, SearchesFromSeveralStarts) {
  const auto rippled = [](double number) {
    const double log = std::log(number);
    return Numbers{std::exp(0.3 * log + 0.4 * std::sin(3 * log)), std::exp(0.3 * log)};
  };
  const PositiveFit found =
      fit_positive({{"number", 1.0, 1.0}}, rippled(25.0), [&](const Numbers& of) { return rippled(of[0]); });
  EXPECT_NEAR(found.numbers[0].value, 25.0, 0.01);
  EXPECT_EQ(found.starts, 3);
}

/// As many rows as numbers: there are no errors by which to judge.
TEST(PositiveFit, HasNoIntervalWithoutSpareRows) {
  const Link two{{1e3, 1e8}};
  const PositiveFit found = fit(two, two.times(20e-6, 3e9));
  EXPECT_NEAR(found.numbers[1].value, 3e9, 1e6);
  EXPECT_FALSE(std::isfinite(found.numbers[1].lower));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::estimates
