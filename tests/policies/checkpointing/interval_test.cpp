// Closed forms about checkpoints: known values, optimality by search, limits, and simulated failures.
#include "policies/checkpointing/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

constexpr Seconds hour(3600.0);
constexpr Costs costs{.commit = Seconds(10.0), .load = Seconds(20.0), .downtime = Seconds(30.0)};

double cost_per_work(Seconds work, const Costs& of, Seconds mtbf) {
  return segment_time(work, of, mtbf) / work;
}

TEST(ClosedForms, HaveTheirKnownValues) {
  EXPECT_NEAR(segment_time(Seconds(300.0), costs, hour).count(), 328.2551, 5e-5);
  EXPECT_NEAR(job_time(hour, 12, costs, hour).count(), 3939.06, 5e-3);
  const Costs without_commits{.commit = Seconds(0.0), .load = costs.load, .downtime = costs.downtime};
  EXPECT_NEAR(job_time(hour, 1, without_commits, hour).count(), 6272.11, 5e-3);
}

TEST(ClosedForms, IntervalsHaveTheirKnownValues) {
  EXPECT_NEAR(optimal_interval(Seconds(10.0), hour).count(), 261.703, 5e-4);
  EXPECT_NEAR(young_interval(Seconds(10.0), hour).count(), 268.328, 5e-4);
  EXPECT_NEAR(daly_interval(Seconds(10.0), hour).count(), 261.703, 5e-4);
  EXPECT_NEAR(optimal_interval(Seconds(600.0), hour).count(), 1699.23, 5e-3);
  EXPECT_NEAR(young_interval(Seconds(600.0), hour).count(), 2078.46, 5e-3);
  EXPECT_NEAR(daly_interval(Seconds(600.0), hour).count(), 1697.71, 5e-3);
  const double least = cost_per_work(optimal_interval(Seconds(10.0), hour), costs, hour);
  EXPECT_NEAR(cost_per_work(young_interval(Seconds(10.0), hour), costs, hour) / least - 1.0, 2e-5, 5e-6);
}

TEST(OptimalInterval, IsTheMinimumOnAGrid) {
  for (const double cost : {0.1, 1.0, 10.0, 100.0, 600.0, 3600.0, 10000.0}) {
    const Costs of{.commit = Seconds(cost), .load = Seconds(20.0), .downtime = Seconds(30.0)};
    Seconds best;
    double least = INFINITY;
    for (Seconds work(1.0); work < Seconds(20000.0); work = work * 1.002)
      if (const double found = cost_per_work(work, of, hour); found < least) {
        best = work;
        least = found;
      }
    const Seconds optimal = optimal_interval(of.commit, hour);
    EXPECT_NEAR(optimal / best, 1.0, 0.002) << cost;
    EXPECT_LE(cost_per_work(optimal, of, hour), least * (1.0 + 1e-12)) << cost;
    // Load and downtime do not change it: the derivative of (exp((w + C) / M) - 1) / w is 0.
    const double x = optimal / hour;
    EXPECT_NEAR((1.0 - x) * std::exp(x + cost / 3600.0), 1.0, 1e-12) << cost;
  }
}

TEST(OptimalInterval, YoungAndDalyTendToIt) {
  double last_young = INFINITY;
  for (double share = 1.0; share > 1e-13; share /= 10.0) {
    const Seconds cost = hour * share;
    const Seconds optimal = optimal_interval(cost, hour);
    const double young = young_interval(cost, hour) / optimal - 1.0;
    // The next term of the series is sqrt(C / (2 M)) 2 / 3.
    EXPECT_GT(young, 0.0) << share;
    EXPECT_LT(young, last_young) << share;
    EXPECT_NEAR(young / (std::sqrt(share / 2.0) * 2.0 / 3.0), 1.0, std::sqrt(share / 2.0) + 1e-7) << share;
    EXPECT_NEAR(daly_interval(cost, hour) / optimal, 1.0, share) << share;
    last_young = young;
  }
}

/// With the best interval of each, cheaper commits and recoveries and rarer failures never cost more.
TEST(OptimalInterval, CostsGrowWithWhatACommitAndAFailureTake) {
  const auto least = [](const Costs& of, double mtbf) {
    return cost_per_work(optimal_interval(of.commit, Seconds(mtbf)), of, Seconds(mtbf));
  };
  for (const double mtbf : {600.0, 3600.0, 86400.0})
    for (const double seconds : {1.0, 10.0, 60.0, 300.0})
      for (const double factor : {1.01, 1.5, 4.0}) {
        const Costs base{.commit = Seconds(seconds), .load = Seconds(2 * seconds), .downtime = Seconds(30.0)};
        Costs commit = base, load = base, downtime = base;
        commit.commit = base.commit * factor;
        load.load = base.load * factor;
        downtime.downtime = base.downtime * factor;
        for (const Costs& dearer : {commit, load, downtime})
          EXPECT_GT(least(dearer, mtbf), least(base, mtbf));
        EXPECT_LT(least(base, mtbf * factor), least(base, mtbf));
      }
}

TEST(OptimalInterval, HasLimits) {
  EXPECT_EQ(optimal_interval(Seconds(0.0), hour), Seconds(0.0));
  EXPECT_EQ(young_interval(Seconds(0.0), hour), Seconds(0.0));
  EXPECT_EQ(daly_interval(Seconds(0.0), hour), Seconds(0.0));
  EXPECT_NEAR(optimal_interval(hour * 1000.0, hour).count(), 3600.0, 1e-9) << "at most the time to a failure";
  EXPECT_EQ(daly_interval(hour * 2.0, hour), hour);
  EXPECT_LT(optimal_interval(Seconds(5.0), hour), optimal_interval(Seconds(6.0), hour));
  EXPECT_LT(optimal_interval(Seconds(5.0), hour), optimal_interval(Seconds(5.0), hour * 1.1));
}

double exponential(Rng& random, Seconds mean) { return -mean.count() * std::log1p(-random.uniform()); }

/// Failures strike during work, commit and loading, not during the downtime.
double simulated_recovery(Rng& random, const Costs& of, Seconds mtbf) {
  double time = of.downtime.count();
  for (;;) {
    const double failure = exponential(random, mtbf);
    if (failure >= of.load.count()) return time + of.load.count();
    time += failure + of.downtime.count();
  }
}

struct Mean {
  double sum = 0.0;
  double squares = 0.0;
  int count = 0;

  void add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  double mean() const { return sum / count; }
  double error() const { return std::sqrt((squares / count - mean() * mean()) / (count - 1)); }
};

TEST(ClosedForms, AreTheMeansOfSimulatedSegments) {
  struct Case {
    Costs costs;
    double work;
    double mtbf;
  };
  const Case cases[] = {{costs, 300.0, 3600.0},
                        {costs, 900.0, 600.0},
                        {{Seconds(60.0), Seconds(120.0), Seconds(5.0)}, 200.0, 150.0},
                        {{Seconds(0.0), Seconds(0.0), Seconds(0.0)}, 50.0, 100.0}};
  Rng random(11);
  for (const auto& [of, work, mtbf] : cases) {
    const Seconds rate(mtbf);
    Mean segment;
    for (int run = 0; run < 100000; ++run) {
      const double length = work + of.commit.count();
      double time = 0.0;
      for (double failure = exponential(random, rate); failure < length; failure = exponential(random, rate))
        time += failure + simulated_recovery(random, of, rate);
      segment.add(time + length);
    }
    EXPECT_NEAR(segment.mean(), segment_time(Seconds(work), of, rate).count(), 3.0 * segment.error());
  }
}

/// A job of L hours without commits, failures at the rate l: (exp(l L) - 1) / l.
TEST(ClosedForms, OfAJobWithoutCommitsAreTheTextbooks) {
  struct Case {
    double hours, rate, expected;
  };
  for (const auto& [hours, rate, expected] :
       {Case{10, 0.1, 17.1828}, Case{24, 1.0 / 12, 76.6687}, Case{5, 0.01, 5.12711}, Case{3, 1, 19.0855}}) {
    const double closed = (std::exp(rate * hours) - 1) / rate;
    EXPECT_NEAR(closed, expected, 1e-5 * expected);
    EXPECT_NEAR(job_time(Seconds(3600 * hours), 1, {}, Seconds(3600 / rate)).count(), 3600 * closed,
                1e-8 * closed);
  }
}

TEST(Notice, FitsUpToItsEnd) {
  EXPECT_TRUE(fits_notice(Seconds(10.0), Seconds(20.0), Seconds(30.0)));
  EXPECT_FALSE(fits_notice(Seconds(10.5), Seconds(20.0), Seconds(30.0)));
  EXPECT_FALSE(fits_notice(Seconds(0.0), Seconds(1.0), Seconds(0.0)));
  EXPECT_FALSE(fits_notice(Seconds(0.0), Seconds(0.0), Seconds(-1.0)));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
