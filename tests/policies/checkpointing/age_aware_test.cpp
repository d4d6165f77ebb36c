// The interval for machines whose failure rate depends on age: equal to the closed form for constant rates,
// and to a search by brute force for other lifetimes.
#include "policies/checkpointing/age_aware.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "policies/checkpointing/interval.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

CumulativeHazard constant(double mtbf) {
  return [mtbf](double age) { return age / mtbf; };
}
CumulativeHazard weibull(double shape, double scale) {
  return [=](double age) { return std::pow(age / scale, shape); };
}
/// Some machines are bad from the start.
CumulativeHazard early_death(double share, double early_s, double late_s) {
  return [=](double age) {
    return -std::log(share * std::exp(-age / early_s) + (1.0 - share) * std::exp(-age / late_s));
  };
}
/// No machine lives longer than `limit`.
CumulativeHazard limited(double mtbf, double limit) {
  return [=](double age) { return age < limit ? age / mtbf : std::numeric_limits<double>::infinity(); };
}

std::optional<Seconds> interval_of(const CumulativeHazard& hazard, const std::vector<double>& ages,
                                   double cost) {
  std::vector<AgedMachine> machines;
  for (const double age : ages) machines.push_back({&hazard, age});
  return age_aware_interval(std::move(machines), Seconds(cost));
}

double interval(const CumulativeHazard& hazard, const std::vector<double>& ages, double cost) {
  const auto found = interval_of(hazard, ages, cost);
  return found ? found->count() : std::numeric_limits<double>::infinity();
}

TEST(AgeAware, ConstantRatesGiveTheOptimalInterval) {
  for (const double cost : {0.01, 1.0, 10.0, 600.0, 3600.0, 36000.0})
    for (const std::size_t machines : {1U, 4U, 64U}) {
      std::vector<double> ages;
      for (std::size_t i = 0; i < machines; ++i) ages.push_back(static_cast<double>(i % 7) * 1000.0);
      const double optimal =
          optimal_interval(Seconds(cost), Seconds(3600.0 / static_cast<double>(machines))).count();
      EXPECT_NEAR(interval(constant(3600.0), ages, cost) / optimal, 1.0, 1e-9) << cost << ' ' << machines;
    }
}

TEST(AgeAware, IntervalsGrowWithAgeWhereYoungMachinesFailMoreOften) {
  for (const double shape : {0.3, 0.5, 0.8}) {
    double last = 0.0;
    for (const double age : {0.0, 60.0, 600.0, 3600.0, 36000.0, 360000.0}) {
      const double found = interval(weibull(shape, 36000.0), {age, age}, 10.0);
      EXPECT_GT(found, last) << shape << ' ' << age;
      last = found;
    }
  }
}

TEST(AgeAware, IntervalsShrinkWithAgeWhereOldMachinesFailMoreOften) {
  double last = std::numeric_limits<double>::infinity();
  for (const double age : {0.0, 600.0, 3600.0, 36000.0, 360000.0}) {
    const double found = interval(weibull(2.0, 36000.0), {age}, 10.0);
    EXPECT_LT(found, last) << age;
    last = found;
  }
}

TEST(AgeAware, TheYoungestMachineCountsMost) {
  const auto hazard = weibull(0.5, 36000.0);
  const double old = interval(hazard, {36000.0, 36000.0}, 10.0);
  const double young = interval(hazard, {0.0, 0.0}, 10.0);
  const double mixed = interval(hazard, {0.0, 36000.0}, 10.0);
  EXPECT_LT(young, mixed);
  EXPECT_LT(mixed, old);
  EXPECT_EQ(mixed, interval(hazard, {36000.0, 0.0}, 10.0)) << "the order does not count";
}

TEST(AgeAware, MachinesMayHaveDifferentLifetimes) {
  const CumulativeHazard often = constant(1000.0), seldom = constant(3000.0);
  const auto found =
      age_aware_interval({{&often, 5.0}, {&seldom, 5.0}, {&often, 5.0}, {&seldom, 700.0}}, Seconds(10.0));
  const double rate = 2.0 / 1000.0 + 2.0 / 3000.0;
  EXPECT_NEAR(found->count(), optimal_interval(Seconds(10.0), Seconds(1.0 / rate)).count(), 1e-6);
}

/// Expected work that commits save before the first failure of one machine, with intervals by age. The
/// expected time until that failure does not depend on them.
double saved_work(const CumulativeHazard& hazard, double age, double cost,
                  const std::function<double(double age)>& interval_at) {
  double saved = 0.0;
  for (double t = 0.0; hazard(age + t) - hazard(age) < 25.0;) {
    const double work = interval_at(age + t);
    t += work + cost;
    saved += work * std::exp(hazard(age) - hazard(age + t));
  }
  return saved;
}

TEST(AgeAware, SavesMoreWorkThanEveryConstantInterval) {
  const CumulativeHazard lifetimes[] = {weibull(0.5, 20000.0), weibull(0.7, 20000.0), weibull(3.0, 20000.0),
                                        early_death(0.3, 300.0, 40000.0)};
  for (const auto& hazard : lifetimes)
    for (const double age : {0.0, 100.0, 1000.0}) {
      const double saved =
          saved_work(hazard, age, 20.0, [&](double at) { return interval(hazard, {at}, 20.0); });
      double best_constant = 0.0;
      for (double constant = 20.0; constant < 20000.0; constant *= 1.1)
        best_constant =
            std::max(best_constant, saved_work(hazard, age, 20.0, [&](double) { return constant; }));
      EXPECT_GT(saved, best_constant) << age;
    }
}

TEST(AgeAware, CommitsBeforeTheLimitOfLifetimes) {
  const auto hazard = limited(1e7, 5000.0);
  const double found = interval(hazard, {4000.0}, 10.0);
  EXPECT_LE(found, 990.0);
  EXPECT_GT(found, 980.0) << "failures are rare before the limit";
  EXPECT_EQ(interval(hazard, {4995.0}, 10.0), 0.0) << "a commit cannot end before the limit";
  EXPECT_EQ(interval(hazard, {5000.0}, 10.0), 0.0);
}

TEST(AgeAware, NoFailuresNeedNoCommits) {
  EXPECT_EQ(interval_of([](double) { return 0.0; }, {5.0}, 10.0), std::nullopt);
  // The only failure that can strike is one at a young age.
  const auto settled = [](double age) { return std::min(age, 100.0) / 1000.0; };
  EXPECT_EQ(interval_of(settled, {200.0}, 10.0), std::nullopt);
  EXPECT_EQ(interval_of(constant(10.0), {200.0}, 0.0), Seconds());
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
