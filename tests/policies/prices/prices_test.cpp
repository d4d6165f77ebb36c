// Closed forms against numbers that were computed from the formulas of the literature elsewhere.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "policies/prices/cores.hpp"
#include "policies/prices/order_statistics.hpp"
#include "policies/prices/step.hpp"
#include "policies/prices/throughput.hpp"

namespace tandem::prices {
namespace TANDEM_FILE {

// ---- Order statistics ----

struct OrderCase {
  const char* name;
  std::vector<SpreadClass> classes;
  double expected_s;
  double within;
};

const Spread standard = Spread::normal(Seconds(0.0), Seconds(1.0));
const Spread unit = Spread::exponential(Seconds(1.0));
const Spread wide = Spread::log_normal(Seconds(1.0), 0.2);
const Spread measured = Spread::of_values({1.2, 1.0, 2.0, 1.1});
const Spread usual = Spread::normal(Seconds(1.0), Seconds(0.05));
const Spread slow = Spread::normal(Seconds(1.1), Seconds(0.05));

TEST(Prices, MeansOfTheSlowestWorker) {
  const std::vector<OrderCase> cases = {
      {"slowest of 8, exponential", {{unit, 8}}, 2.717857, 1e-6},
      {"normal, 8", {{standard, 8}}, 1.42360, 1e-5},
      {"normal, 64", {{standard, 64}}, 2.34373, 1e-5},
      {"normal, 1,024", {{standard, 1024}}, 3.24824, 1e-5},
      {"normal, 100,000", {{standard, 100'000}}, 4.38432, 1e-5},
      {"log-normal, 8", {{wide, 8}}, 1.33950, 1e-5},
      {"log-normal, 64", {{wide, 64}}, 1.60463, 1e-5},
      {"of values, 1", {{measured, 1}}, 1.325, 1e-9},
      {"of values, 4", {{measured, 4}}, 1.74023, 1e-5},
      {"of values, 16", {{measured, 16}}, 1.99198, 1e-5},
      {"two classes", {{usual, 60}, {slow, 4}}, 1.15595, 1e-5},
      {"one class of 64", {{usual, 64}}, 1.11719, 1e-5},
      {"no spread",
       {{Spread::constant(Seconds(2.0)), 1000}, {Spread::constant(Seconds(3.0)), 1}},
       3.0,
       1e-12},
  };
  for (const OrderCase& of : cases) {
    EXPECT_NEAR(mean_of_slowest(of.classes).count(), of.expected_s, of.within) << of.name;
  }
  EXPECT_NEAR(wide.mean().count(), 1.02020, 1e-5);
}

TEST(Prices, MeansOfTheFirstWorkers) {
  struct FirstCase {
    OrderCase of;
    std::int64_t done;
  };
  // Times of so many classes that their number is taken as normal: at most 1 % of the deviation off.
  std::vector<SpreadClass> many;
  for (int i = 0; i < 1000; ++i) many.push_back({usual, 1});
  const std::vector<FirstCase> cases = {
      {{"6 of 8, exponential", {{unit, 8}}, 1.217857, 1e-6}, 6},
      {{"60 of 64, exponential", {{unit, 64}}, 2.660558, 1e-6}, 60},
      {{"all of 8", {{unit, 8}}, 2.717857, 1e-6}, 8},
      {{"62 of 64 in two classes", {{usual, 60}, {slow, 4}}, 1.11033, 1e-5}, 62},
      {{"1 of 64 in two classes", {{unit, 60}, {unit, 4}}, 1.0 / 64, 1e-9}, 1},
      {{"half of 1,000 classes", many, mean_of_first(std::vector{SpreadClass{usual, 1000}}, 500).count(),
        5e-4},
       500},
      {{"990 of 1,000 classes", many, mean_of_first(std::vector{SpreadClass{usual, 1000}}, 990).count(),
        1e-9},
       990},
      {{"no spread", {{Spread::constant(Seconds(2.0)), 3}, {Spread::constant(Seconds(3.0)), 1}}, 2.0, 1e-12},
       3},
  };
  for (const auto& [of, done] : cases)
    EXPECT_NEAR(mean_of_first(of.classes, done).count(), of.expected_s, of.within) << of.name;
}

/// The parts of a class are that class.
TEST(Prices, AClassInTwoHalvesIsTheClass) {
  const std::array one = {SpreadClass{wide, 8}};
  const std::array two = {SpreadClass{wide, 5}, SpreadClass{wide, 3}};
  EXPECT_NEAR(mean_of_slowest(one).count(), mean_of_slowest(two).count(), 1e-12);
}

// ---- Throughput without barriers ----

std::vector<Seconds> stations(std::initializer_list<double> service_s) {
  return {service_s.begin(), service_s.end()};
}

TEST(Prices, MeanValueAnalysis) {
  for (const auto& [workers, rate] : {std::pair{1, 1.0}, {5, 4.7509}, {10, 8.3204}, {20, 9.9938}})
    EXPECT_NEAR(mean_value_analysis({workers, Seconds(0.9)}, stations({0.1})).steps_per_s, rate, 1e-4)
        << workers;
  for (const auto& [workers, rate] : {std::pair{10, 9.328}, {17, 14.0922}, {40, 16.6658}})
    EXPECT_NEAR(mean_value_analysis({workers, Seconds(0.9)}, stations({0.06, 0.04})).steps_per_s, rate, 1e-4)
        << workers;
}

TEST(Prices, SchweitzersFixedPointOfTwoClasses) {
  const std::array classes = {QueueClass{4, Seconds(0.9)}, QueueClass{4, Seconds(0.4)}};
  const auto found = schweitzer(classes, stations({0.1}));
  EXPECT_NEAR(found.by_class[0], 3.1288, 1e-4);
  EXPECT_NEAR(found.by_class[1], 5.2586, 1e-4);
  EXPECT_NEAR(found.utilisation, 0.1 * (3.1288 + 5.2586), 1e-4);
}

/// With service times that do not vary the rate is the bound; it is the bound's in both limits, whatever they
/// do.
TEST(Prices, ThroughputLiesBetweenMeanValueAnalysisAndTheBound) {
  const auto rate = [](int workers, double variation) {
    const std::array classes = {QueueClass{workers, Seconds(0.9)}};
    return throughput(classes, stations({0.1}), variation).steps_per_s;
  };
  EXPECT_NEAR(rate(9, 0.0), 9.0, 1e-12);
  EXPECT_NEAR(rate(11, 0.0), 10.0, 1e-12);
  EXPECT_NEAR(rate(10, 1.0), 8.3204, 1e-4);
  EXPECT_NEAR(rate(10, 0.5), 0.75 * 10.0 + 0.25 * 8.3204, 1e-4);
  EXPECT_NEAR(rate(1, 1.0), 1.0, 1e-12);
  EXPECT_NEAR(rate(100'000, 1.0), 10.0, 1e-9);
}

// ---- Cores ----

struct CoresCase {
  const char* name;
  int cores;
  std::vector<CoreWork> works;
  std::vector<double> ends_s;  ///< by hand
};

TEST(Prices, WorksThatShareCores) {
  const auto work = [](double ready_s, double alone_s, int threads = 1) {
    return CoreWork{Seconds(ready_s), Seconds(alone_s), threads};
  };
  const std::vector<CoresCase> cases = {
      {"none", 1, {}, {}},
      {"two on two cores", 2, {work(0, 3), work(0, 1)}, {3, 1}},
      {"two on one core", 1, {work(0, 3), work(0, 1)}, {4, 2}},
      {"three on two cores: at 2/3 each until the shortest ends",
       2,
       {work(0, 2), work(0, 2), work(0, 1)},
       {2.5, 2.5, 1.5}},
      {"a later one shares what is left", 1, {work(0, 2), work(1, 2)}, {3, 4}},
      {"four threads on two cores", 2, {work(0, 1, 4)}, {2}},
      {"four threads beside one", 2, {work(0, 1, 4), work(0, 1)}, {2.5, 2.5}},
      {"one after a pause", 1, {work(0, 1), work(5, 1)}, {1, 6}},
      {"without duration", 1, {work(0, 0), work(0, 1)}, {0, 1}},
  };
  for (const CoresCase& of : cases) {
    const auto ends = ends_on_cores(of.works, of.cores);
    ASSERT_EQ(ends.size(), of.ends_s.size()) << of.name;
    for (std::size_t i = 0; i < ends.size(); ++i)
      EXPECT_NEAR(ends[i].count(), of.ends_s[i], 1e-12) << of.name;
  }
}

// ---- Steps ----

TEST(Prices, BucketsThatLeaveDuringTheBackwardPass) {
  const auto step_s = [](double exchange_s) {
    std::vector<Bucket> buckets;
    for (const double ready_s : {0.15, 0.2, 0.25, 0.3})
      buckets.push_back({Seconds(ready_s), Seconds(exchange_s)});
    return end_of_buckets(buckets, Seconds(0.3)).count();
  };
  EXPECT_NEAR(step_s(0.06), 0.39, 1e-12);
  EXPECT_NEAR(step_s(0.03), 0.33, 1e-12);
  EXPECT_NEAR(end_of_buckets({}, Seconds(0.3)).count(), 0.3, 1e-12);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::prices
