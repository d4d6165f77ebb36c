// The order parameter of workers' phases: closed forms of made journals.
#include "workloads/records/phase_order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "policies/vocabulary/rng.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace TANDEM_FILE {

RunInfo info_of(int workers, int warmup = 0) {
  RunInfo info;
  info.experiment.warmup_steps = warmup;
  info.roles.assign(static_cast<std::size_t>(workers), "worker");
  info.roles.emplace_back("server");
  return info;
}

/// Steps of one duration without gaps.
void add_steps(Journal& journal, Rank rank, double begin, double duration, int steps) {
  for (int step = 0; step < steps; ++step) {
    StepRecord record{.rank = rank, .step = step, .start = Seconds(begin + step * duration)};
    record.phases[static_cast<std::size_t>(Phase::backward)] = Seconds(duration);
    journal.steps.push_back(record);
  }
}

TEST(PhaseOrder, IsOneInPhaseAndZeroWhenSpreadEvenly) {
  Journal in_phase, spread;
  for (int rank = 0; rank < 4; ++rank) {
    add_steps(in_phase, rank, 3.0, 1.0, 50);
    add_steps(spread, rank, 0.25 * rank, 1.0, 50);
  }
  EXPECT_NEAR(phase_order(info_of(4), in_phase).value(), 1.0, 1e-9);
  EXPECT_NEAR(phase_order(info_of(4), spread).value(), 0.0, 1e-9);
}

TEST(PhaseOrder, OfTwoWorkersIsTheCosineOfHalfTheirDistance) {
  for (const double distance : {0.1, 0.25, 0.4}) {
    Journal journal;
    add_steps(journal, 0, 0.0, 2.0, 40);
    add_steps(journal, 1, 2.0 * distance, 2.0, 40);
    EXPECT_NEAR(phase_order(info_of(2), journal).value(), std::cos(std::numbers::pi * distance), 1e-9);
  }
}

TEST(PhaseOrder, OfWorkersThatDriftIsThatOfIndependentPhases) {
  Journal journal;
  add_steps(journal, 0, 0.0, 1.0, 2000);
  add_steps(journal, 1, 0.0, std::numbers::phi, 1300);
  // The mean of |cos| over all distances.
  EXPECT_NEAR(phase_order(info_of(2), journal).value(), 2 / std::numbers::pi, 0.01);
}

TEST(PhaseOrder, OfManyDriftingWorkersFollowsRayleigh) {
  Journal journal;
  Rng random = Rng::stream(1, "periods");
  constexpr int workers = 40;
  for (int rank = 0; rank < workers; ++rank)
    add_steps(journal, rank, random.uniform(), 1.0 + 0.2 * random.uniform(), 1500);
  // The mean of workers with independent phases.
  EXPECT_NEAR(phase_order(info_of(workers), journal).value(), std::sqrt(std::numbers::pi / workers) / 2,
              0.015);
}

TEST(PhaseOrder, CountsNoWarmUp) {
  Journal journal;
  // In phase in the first two steps only.
  for (const Rank rank : {0, 1}) add_steps(journal, rank, 0.0, 1.0, 2);
  for (int step = 2; step < 30; ++step)
    for (const Rank rank : {0, 1}) {
      StepRecord record{.rank = rank, .step = step, .start = Seconds(step + 0.5 * rank)};
      record.phases[0] = Seconds(1.0);
      journal.steps.push_back(record);
    }
  EXPECT_NEAR(phase_order(info_of(2, 2), journal).value(), 0.0, 1e-9);
  EXPECT_GT(phase_order(info_of(2, 0), journal).value(), 0.05);
}

TEST(PhaseOrder, NeedsTwoWorkersThatOverlap) {
  Journal journal;
  add_steps(journal, 0, 0.0, 1.0, 5);
  EXPECT_FALSE(phase_order(info_of(1), journal));
  EXPECT_FALSE(phase_order(info_of(2), journal)) << "the second worker has no step";
  add_steps(journal, 1, 6.0, 1.0, 5);
  EXPECT_FALSE(phase_order(info_of(2), journal)) << "one after the other";
  EXPECT_TRUE(phase_series(info_of(2), journal, 10).times.empty());
}

TEST(PhaseSeries, HasThePhasesAtEachStepOfTheFirstWorker) {
  Journal journal;
  add_steps(journal, 0, 0.0, 1.0, 50);
  add_steps(journal, 1, 0.25, 1.0, 50);
  const PhaseSeries series = phase_series(info_of(2), journal, 10);
  EXPECT_EQ(series.workers, (std::vector<Rank>{0, 1}));
  ASSERT_EQ(series.times.size(), 10U);
  ASSERT_EQ(series.phases.size(), 10U);
  for (const auto& row : series.phases) {
    EXPECT_NEAR(row[0], 0.0, 1e-9);
    EXPECT_NEAR(row[1], 0.75, 1e-9);
  }
  EXPECT_NEAR(series.times.front().count(), 20.0, 2.0) << "from the middle";
}

}  // namespace TANDEM_FILE
}  // namespace tandem
