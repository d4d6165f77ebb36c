// The update rules against their definitions written out, and special cases at extreme options.
#include "workloads/model/update_rules.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::vector<float> normal_values(Rng& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

TEST(DelayCompensator, AddsTheDriftTimesTheSquaredGradient) {
  DelayCompensator compensator(sync::DelayCompensation{.lambda = 0.04}, 3);
  std::vector<float> gradient = {2.0F, -1.0F, 3.0F};
  compensator.correct(gradient, std::vector<float>{1.0F, 1.0F, 1.0F}, std::vector<float>{0.5F, 2.0F, 1.0F},
                      0);
  EXPECT_FLOAT_EQ(gradient[0], 2.0F + 0.04F * 4.0F * 0.5F);
  EXPECT_FLOAT_EQ(gradient[1], -1.0F - 0.04F * 1.0F * 1.0F);
  EXPECT_EQ(gradient[2], 3.0F);
}

TEST(DelayCompensator, DoesNotChangeGradientsOfOtherRules) {
  for (const sync::UpdateRule& rule :
       {sync::UpdateRule(sync::PlainUpdate{}), sync::UpdateRule(sync::OuterMomentum{})}) {
    DelayCompensator compensator(rule, 1);
    std::vector<float> gradient = {2.0F};
    compensator.correct(gradient, std::vector<float>{1.0F}, std::vector<float>{0.5F}, 0);
    EXPECT_EQ(gradient[0], 2.0F);
  }
}

/// Element by element in double precision, over several gradients that cover two stretches of the memory.
TEST(DelayCompensator, AdaptsToTheRunningMeanOfSquares) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    const double memory = random.uniform();
    DelayCompensator compensator(sync::DelayCompensation{.lambda = 2.0, .adaptive = true, .memory = memory},
                                 8);
    std::vector<double> mean_square(8, 0.0);
    for (int update = 0; update < 10; ++update)
      for (const std::size_t position : {0UL, 5UL}) {
        const std::size_t count = position == 0 ? 5 : 3;
        auto gradient = normal_values(random, count);
        const auto model = normal_values(random, count), older = normal_values(random, count);
        std::vector<double> expected;
        for (std::size_t i = 0; i < count; ++i) {
          const double g = gradient[i];
          double& mean = mean_square[position + i];
          mean = memory * mean + (1.0 - memory) * g * g;
          const double drift = static_cast<double>(model[i]) - static_cast<double>(older[i]);
          expected.push_back(g + 2.0 / std::sqrt(mean + 1e-7) * g * g * drift);
        }
        compensator.correct(gradient, model, older, static_cast<std::int64_t>(position));
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_NEAR(gradient[i], expected[i], 1e-4 * (1.0 + std::abs(expected[i])));
      }
  }
}

/// Momentum over rounds as PyTorch's SGD defines it, with the negative mean change as pseudo-gradient.
TEST(ChangeUpdate, FollowsTheDefinitionOfMomentum) {
  for (const auto seed : testing::seeds(20))
    for (const bool nesterov : {false, true}) {
      TANDEM_TRACE_SEED(seed);
      Rng random(seed);
      const double rate = random.uniform(), momentum = random.uniform(), global_rate = 0.5 + random.uniform();
      ChangeUpdate update(sync::OuterMomentum{.rate = rate, .momentum = momentum, .nesterov = nesterov},
                          global_rate, 6);
      auto model = normal_values(random, 6);
      std::vector<double> expected(model.begin(), model.end()), velocity(6, 0.0);
      for (int round = 0; round < 10; ++round) {
        const auto sum = normal_values(random, 6);
        for (std::size_t i = 0; i < 6; ++i) {
          const double gradient = -0.25 * static_cast<double>(sum[i]);
          velocity[i] = momentum * velocity[i] + gradient;
          const double step = nesterov ? gradient + momentum * velocity[i] : velocity[i];
          expected[i] -= rate * global_rate * step;
        }
        const std::span<float> whole(model);
        update.apply(whole.first(4), whole.first(4), std::span(sum).first(4), 0.25, 1.0, 0);
        update.apply(whole.last(2), whole.last(2), std::span(sum).last(2), 0.25, 1.0, 4);
        for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(model[i], expected[i], 1e-4);
      }
    }
}

/// DiLoCo without momentum: with a constant gradient 2 and an inner rate 1, three local steps from 1 end at
/// -1, -3 and -5, and an outer rate of 2 moves the model twice as far.
TEST(ChangeUpdate, AnOuterRateOfTwoMovesTwiceAsFarAsTheLocalSteps) {
  float local = 1.0F;
  for (const float expected : {-1.0F, -3.0F, -5.0F}) EXPECT_EQ(local -= 1.0F * 2.0F, expected);
  ChangeUpdate update(sync::OuterMomentum{.rate = 2.0, .momentum = 0.0, .nesterov = true}, 1.0, 1);
  std::vector<float> model = {1.0F};
  update.apply(model, model, std::vector<float>{local - 1.0F}, 1.0, 1.0, 0);
  EXPECT_EQ(model[0], -11.0F);
}

/// SlowMo as in the paper: u = beta u + d / gamma, and the model moves by alpha gamma u, where gamma changes.
TEST(ChangeUpdate, MomentumScaledByTheLearningRateIsThatOfSlowMo) {
  constexpr double alpha = 0.8, beta = 0.7;
  ChangeUpdate update(sync::OuterMomentum{.rate = alpha, .momentum = beta, .follows_learning_rate = true},
                      1.0, 1);
  ChangeUpdate steady(sync::OuterMomentum{.rate = alpha, .momentum = beta}, 1.0, 1);
  std::vector<float> model = {1.0F}, other = {1.0F};
  double expected = 1.0, velocity = 0.0;
  for (const double gamma : {0.1, 0.1, 0.05, 0.01, 0.005}) {
    velocity = beta * velocity + 0.3 / gamma;
    expected += alpha * gamma * velocity;
    update.begin_update(gamma);
    update.apply(model, model, std::vector<float>{0.6F}, 0.5, 1.0, 0);
    EXPECT_NEAR(model[0], expected, 1e-5);
    steady.begin_update(gamma);
    steady.apply(other, other, std::vector<float>{0.6F}, 0.5, 1.0, 0);
    if (gamma == 0.1) {
      EXPECT_EQ(model, other) << "the learning rate has no effect";
    }
  }
  EXPECT_GT(other[0], model[0] + 0.1F);
}

TEST(ChangeUpdate, WithRateOneAndWithoutMomentumIsTheMean) {
  ChangeUpdate outer(sync::OuterMomentum{}, 1.0, 2);
  ChangeUpdate plain(sync::PlainUpdate{}, 1.0, 2);
  const std::vector<float> base = {0.5F, -0.25F}, sum = {3.0F, 0.7F};
  std::vector<float> one(2), other(2);
  outer.apply(one, base, sum, 1.0 / 3, 1.0, 0);
  plain.apply(other, base, sum, 1.0 / 3, 1.0, 0);
  EXPECT_EQ(one, other);
  EXPECT_FLOAT_EQ(one[0], 1.5F);
}

TEST(ChangeUpdate, TheCentreMovesTowardsEveryWorker) {
  ChangeUpdate update(sync::ElasticTie{.pull = 0.2}, 1.0, 1);
  const std::vector<float> centre = {1.0F}, sum_of_four = {2.0F};
  std::vector<float> moved(1);
  update.apply(moved, centre, sum_of_four, 1.0 / 4, 1.0, 0);
  EXPECT_FLOAT_EQ(moved[0], 1.0F + 0.2F * 2.0F);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
