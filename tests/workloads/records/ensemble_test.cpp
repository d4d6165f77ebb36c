// Ensembles: intervals that hold a further outcome as often as they say, and which replica is kept.
#include "workloads/records/ensemble.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(Ensemble, IntervalsAreOrderStatistics) {
  std::vector<double> values;
  for (int i = 1; i <= 19; ++i) values.push_back(i);
  // 0.05 (19 + 1) and 0.95 (19 + 1).
  const Spread spread = spread_of_outcomes(values);
  EXPECT_DOUBLE_EQ(spread.low, 1);
  EXPECT_DOUBLE_EQ(spread.high, 19);
  EXPECT_DOUBLE_EQ(spread.median, 10);
  const Spread half = spread_of_outcomes(values, 0.5);
  EXPECT_DOUBLE_EQ(half.low, 5);
  EXPECT_DOUBLE_EQ(half.high, 15);
}

TEST(Ensemble, FewValuesGiveTheirExtremes) {
  const Spread spread = spread_of_outcomes({3, 1, 2, 4});
  EXPECT_DOUBLE_EQ(spread.low, 1);
  EXPECT_DOUBLE_EQ(spread.high, 4);
  EXPECT_DOUBLE_EQ(spread.median, 2.5);
}

TEST(Ensemble, AFurtherOutcomeIsInsideAsOftenAsTheLevelSays) {
  Rng random = Rng::stream(7, "coverage");
  for (const auto& [count, expected] : {std::pair(16, 15.0 / 17), std::pair(39, 0.9), std::pair(100, 0.9)}) {
    constexpr int trials = 20'000;
    int inside = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> values;
      for (int i = 0; i < count; ++i) values.push_back(random.normal());
      const Spread spread = spread_of_outcomes(values);
      const double further = random.normal();
      inside += spread.low <= further && further <= spread.high ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(inside) / trials, expected, 0.01) << count;
  }
}

ReplicaFigures replica(double step_time) {
  return {
      .step_time = step_time, .throughput = 1 / step_time, .makespan = 10 * step_time, .phase_order = 0.5};
}

TEST(Ensemble, KeepsTheReplicaWithTheMedianStepTime) {
  EXPECT_EQ(median_replica({replica(3), replica(1), replica(2)}), 2U);
  EXPECT_EQ(median_replica({replica(3), replica(1), replica(2), replica(4)}), 2U) << "the lower one of two";
  const auto ensemble = ensemble_of({replica(3), replica(1), replica(2), replica(4)});
  EXPECT_EQ(ensemble.recorded, 3U) << "repetitions of replicas count from 1";
  EXPECT_EQ(ensemble.replicas, 4U);
  EXPECT_DOUBLE_EQ(ensemble.figures.step_time.value().median, 2.5);
  EXPECT_DOUBLE_EQ(ensemble.figures.makespan.value().high, 40 * (1 + ensemble_model_error));
  EXPECT_DOUBLE_EQ(ensemble.figures.throughput.value().low, 0.25 * (1 - ensemble_model_error));
  EXPECT_DOUBLE_EQ(ensemble.figures.phase_order.value().low, 0.5);
  EXPECT_EQ(ensemble.figures.throughput->values.size(), 4U);
}

TEST(Ensemble, UnknownFiguresAreLeftOut) {
  auto unknown = replica(1);
  unknown.phase_order = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(ensemble_of({unknown, unknown, unknown, unknown}).figures.phase_order);
  const auto document = nlohmann::json::parse(to_json(unknown).dump());
  EXPECT_TRUE(std::isnan(replica_figures_from_json(document, "file").phase_order));
  EXPECT_DOUBLE_EQ(replica_figures_from_json(document, "file").makespan, 10);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
