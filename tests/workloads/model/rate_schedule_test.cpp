// Learning-rate schedules at their corner points, and consistency between all roles that update a model.
#include "workloads/model/rate_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tandem {
namespace TANDEM_FILE {

using Decay = RateSchedule::Decay;

std::vector<double> factors(const RateSchedule& schedule, std::int64_t rounds) {
  std::vector<double> all;
  for (std::int64_t round = 0; round < rounds; ++round) all.push_back(schedule.factor({round}));
  return all;
}

TEST(RateSchedule, WithoutOptionsIsExactlyOne) {
  EXPECT_EQ(factors({}, 5), std::vector<double>(5, 1.0));
  EXPECT_EQ(RateSchedule{.steps_per_round = 0}.factor({1'000'000, 3}), 1.0);
  EXPECT_EQ(RateSchedule{.steps_per_round = 7}.factor({1'000'000, 3}), 1.0);
}

TEST(RateSchedule, WarmsUpLinearly) {
  EXPECT_EQ(factors({.warmup_rounds = 3}, 6), (std::vector<double>{0.25, 0.5, 0.75, 1.0, 1.0, 1.0}));
}

TEST(RateSchedule, DropsStepByStep) {
  EXPECT_EQ(factors({.decay = Decay::step, .step_every = 2, .step_factor = 0.5}, 7),
            (std::vector<double>{1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125}));
}

TEST(RateSchedule, StepsCountFromTheBeginningDuringWarmUpToo) {
  EXPECT_EQ(factors({.decay = Decay::step, .warmup_rounds = 3, .step_every = 2, .step_factor = 0.5}, 5),
            (std::vector<double>{0.25, 0.5, 0.375, 0.5, 0.25}));
}

TEST(RateSchedule, CosineFallsFromOneToItsFloorAndStays) {
  const RateSchedule schedule{.decay = Decay::cosine, .cosine_rounds = 8};
  EXPECT_EQ(schedule.factor({0}), 1.0);
  EXPECT_NEAR(schedule.factor({2}), (1.0 + std::sqrt(0.5)) / 2.0, 1e-15);
  EXPECT_NEAR(schedule.factor({4}), 0.5, 1e-15);
  EXPECT_NEAR(schedule.factor({6}), (1.0 - std::sqrt(0.5)) / 2.0, 1e-15);
  EXPECT_EQ(schedule.factor({8}), 0.0);
  EXPECT_EQ(schedule.factor({9}), 0.0);
  const RateSchedule floored{.decay = Decay::cosine, .cosine_rounds = 8, .cosine_floor = 0.2};
  EXPECT_EQ(floored.factor({0}), 1.0);
  EXPECT_NEAR(floored.factor({4}), 0.6, 1e-15);
  EXPECT_EQ(floored.factor({8}), 0.2);
  EXPECT_EQ(floored.factor({1'000}), 0.2);
}

TEST(RateSchedule, CosineStartsAtTheEndOfTheWarmUp) {
  const RateSchedule schedule{.decay = Decay::cosine, .warmup_rounds = 2, .cosine_rounds = 6};
  EXPECT_NEAR(schedule.factor({0}), 1.0 / 3.0, 1e-15);
  EXPECT_NEAR(schedule.factor({1}), 2.0 / 3.0, 1e-15);
  EXPECT_EQ(schedule.factor({2}), 1.0);
  EXPECT_NEAR(schedule.factor({4}), 0.5, 1e-15);
  EXPECT_EQ(schedule.factor({6}), 0.0);
}

/// A worker that averages after every h-th step takes the same steps as one that averages after each step.
TEST(RateSchedule, LocalStepsAreFractionsOfARound) {
  for (const Decay decay : {Decay::constant, Decay::step, Decay::cosine})
    for (const int h : {1, 2, 5, 8}) {
      const RateSchedule of_rounds{.decay = decay,
                                   .warmup_rounds = 3,
                                   .step_every = 2,
                                   .step_factor = 0.5,
                                   .cosine_rounds = 10,
                                   .steps_per_round = h};
      const RateSchedule of_steps{.decay = decay,
                                  .warmup_rounds = 3.0 * h,
                                  .step_every = 2.0 * h,
                                  .step_factor = 0.5,
                                  .cosine_rounds = 10.0 * h};
      for (int step = 0; step < 12 * h; ++step)
        EXPECT_NEAR(of_rounds.factor({step / h, step % h}), of_steps.factor({step}), 1e-12)
            << "h " << h << " step " << step;
    }
}

TEST(RateSchedule, IsConstantWithinARoundOfVaryingSteps) {
  const RateSchedule schedule{
      .decay = Decay::cosine, .warmup_rounds = 1, .cosine_rounds = 6, .steps_per_round = 0};
  for (std::int64_t round = 0; round < 8; ++round)
    for (const int local : {1, 5, 100})
      EXPECT_EQ(schedule.factor({round, local}), schedule.factor({round})) << round << ' ' << local;
  EXPECT_EQ(schedule.factor({0}), 0.5);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
