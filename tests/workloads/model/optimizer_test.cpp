// Optimisers against PyTorch's definitions written out in double precision, and their handling of stretches
// and statistics. torch_optimizer_test.cpp compares with PyTorch itself.
#include "workloads/model/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace TANDEM_FILE {

std::vector<float> random_values(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(rng.normal());
  return values;
}

/// PyTorch's update rule, one element at a time; its buffer starts with the first gradient.
struct Reference {
  double learning_rate, momentum, weight_decay;
  std::vector<double> model, buffer;
  bool nesterov = false;

  void step(const std::vector<float>& gradient, double scale) {
    const bool first = buffer.empty();
    if (first) buffer.resize(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double d = scale * static_cast<double>(gradient[i]) + weight_decay * model[i];
      buffer[i] = first ? d : momentum * buffer[i] + d;
      model[i] -= learning_rate * (nesterov ? d + momentum * buffer[i] : momentum == 0.0 ? d : buffer[i]);
    }
  }
};

TEST(Sgd, FollowsTheDefinition) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const double momentum : {0.0, 0.9})
      for (const double weight_decay : {0.0, 5e-4}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " momentum " + std::to_string(momentum));
        Rng rng(seed);
        const std::size_t count = 1 + rng.below(1000);
        auto model = random_values(rng, count);
        Sgd sgd(0.1, momentum, weight_decay, static_cast<std::int64_t>(count));
        Reference reference{0.1, momentum, weight_decay, {model.begin(), model.end()}, {}};
        for (int step = 0; step < 10; ++step) {
          const auto gradient = random_values(rng, count);
          sgd.apply(model, gradient, 0.25);
          reference.step(gradient, 0.25);
        }
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_NEAR(static_cast<double>(model[i]), reference.model[i],
                      1e-5 * (1.0 + std::abs(reference.model[i])));
      }
}

TEST(Sgd, FollowsTheDefinitionOfNesterov) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const double weight_decay : {0.0, 5e-4}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      const std::size_t count = 1 + rng.below(1000);
      auto model = random_values(rng, count);
      Sgd sgd(0.1, 0.9, weight_decay, static_cast<std::int64_t>(count), 0, true);
      Reference reference{0.1, 0.9, weight_decay, {model.begin(), model.end()}, {}, true};
      for (int step = 0; step < 10; ++step) {
        const auto gradient = random_values(rng, count);
        sgd.apply(model, gradient, 0.25);
        reference.step(gradient, 0.25);
      }
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_NEAR(static_cast<double>(model[i]), reference.model[i],
                    1e-5 * (1.0 + std::abs(reference.model[i])));
    }
}

TEST(Sgd, StretchByStretchEqualsAllAtOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::size_t count = 2 + rng.below(500);
    const std::size_t cut = 1 + rng.below(count - 1);
    auto whole = random_values(rng, count);
    auto parts = whole;
    Sgd all(0.1, 0.9, 1e-3, static_cast<std::int64_t>(count));
    Sgd both(0.1, 0.9, 1e-3, static_cast<std::int64_t>(count));
    for (int step = 0; step < 3; ++step) {
      const auto gradient = random_values(rng, count);
      const std::span<const float> view(gradient);
      all.apply(whole, gradient, 1.0);
      both.apply(std::span(parts).subspan(cut), view.subspan(cut), 1.0, static_cast<std::int64_t>(cut));
      both.apply(std::span(parts).first(cut), view.first(cut), 1.0, 0);
    }
    EXPECT_EQ(whole, parts);
  }
}

TEST(Sgd, LearningRateCanChange) {
  std::vector<float> model{1.0F};
  Sgd sgd(0.5, 0.0, 0.0, 1);
  const std::vector<float> gradient{1.0F};
  sgd.apply(model, gradient, 1.0);
  sgd.set_learning_rate(0.25);
  sgd.apply(model, gradient, 1.0);
  EXPECT_FLOAT_EQ(model[0], 0.25F);
}

// ---- Adam ----

OptimizerSetting adam(bool decoupled, double weight_decay = 0.0) {
  return {.kind = decoupled ? OptimizerSetting::Kind::adamw : OptimizerSetting::Kind::adam,
          .learning_rate = 0.1,
          .weight_decay = weight_decay,
          .beta1 = 0.8,
          .beta2 = 0.9,
          .epsilon = 1e-3};
}

/// After bias correction, the first step is the gradient divided by its magnitude.
TEST(Adam, StepsByHand) {
  std::vector<float> model = {1.0F, -2.0F};
  Optimizer optimizer(adam(false), 2);
  optimizer.begin_update({});
  optimizer.apply(model, std::vector<float>{0.5F, -4.0F}, 2.0, 0);
  EXPECT_FLOAT_EQ(model[0], static_cast<float>(1.0 - 0.1 * 1.0 / (1.0 + 1e-3)));
  EXPECT_FLOAT_EQ(model[1], static_cast<float>(-2.0 + 0.1 * 8.0 / (8.0 + 1e-3)));
  const double before = static_cast<double>(model[0]);
  optimizer.begin_update({});
  optimizer.apply(model, std::vector<float>{-1.5F, 0.0F}, 2.0, 0);
  const double mean = (0.8 * 0.2 * 1.0 + 0.2 * -3.0) / (1.0 - 0.8 * 0.8);
  const double square = (0.9 * 0.1 * 1.0 + 0.1 * 9.0) / (1.0 - 0.9 * 0.9);
  EXPECT_NEAR(model[0], before - 0.1 * mean / (std::sqrt(square) + 1e-3), 1e-6);
}

TEST(Adam, DecoupledDecayLeavesTheMomentsAlone) {
  std::vector<float> model = {3.0F};
  Optimizer optimizer(adam(true, 0.5), 1);
  optimizer.begin_update({});
  optimizer.apply(model, std::vector<float>{0.0F}, 1.0, 0);
  EXPECT_FLOAT_EQ(model[0], 3.0F * (1.0F - 0.1F * 0.5F));
  std::vector<float> coupled = {3.0F};
  Optimizer other(adam(false, 0.5), 1);
  other.begin_update({});
  other.apply(coupled, std::vector<float>{0.0F}, 1.0, 0);
  EXPECT_FLOAT_EQ(coupled[0], static_cast<float>(3.0 - 0.1 * 1.5 / (1.5 + 1e-3)));
}

TEST(Adam, StretchByStretchEqualsAllAtOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const bool decoupled : {false, true}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      const std::size_t count = 2 + rng.below(500);
      const std::size_t cut = 1 + rng.below(count - 1);
      auto whole = random_values(rng, count);
      auto parts = whole;
      Optimizer all(adam(decoupled, 1e-2), static_cast<std::int64_t>(count));
      Optimizer low(adam(decoupled, 1e-2), static_cast<std::int64_t>(cut));
      Optimizer high(adam(decoupled, 1e-2), static_cast<std::int64_t>(count - cut),
                     static_cast<std::int64_t>(cut));
      for (int step = 0; step < 3; ++step) {
        const auto gradient = random_values(rng, count);
        const std::span<const float> view(gradient);
        for (auto* optimizer : {&all, &low, &high}) optimizer->begin_update({});
        all.apply(whole, gradient, 1.0, 0);
        high.apply(std::span(parts).subspan(cut), view.subspan(cut), 1.0, static_cast<std::int64_t>(cut));
        low.apply(std::span(parts).first(cut), view.first(cut), 1.0, 0);
      }
      EXPECT_EQ(whole, parts);
    }
}

TEST(AdamDeathTest, NeedsAnUpdateThatHasBegun) {
  Optimizer optimizer(adam(false), 1);
  std::vector<float> model{1.0F};
  const std::vector<float> gradient{1.0F};
  EXPECT_DEATH(optimizer.apply(model, gradient, 1.0, 0), "no update has begun");
}

// ---- The optimiser of an experiment ----

TEST(Optimizer, WithSgdIsBitwiseSgd) {
  Rng rng(3);
  auto model = random_values(rng, 300);
  auto other = model;
  Optimizer optimizer({.learning_rate = 0.05, .momentum = 0.9, .weight_decay = 1e-3}, 300);
  Sgd sgd(0.05, 0.9, 1e-3, 300);
  for (std::int64_t round = 0; round < 5; ++round) {
    const auto gradient = random_values(rng, 300);
    optimizer.begin_update({round});
    optimizer.apply(model, gradient, 0.25, 0);
    sgd.apply(other, gradient, 0.25);
    EXPECT_EQ(model, other) << round;
  }
}

TEST(Optimizer, UsesTheRateOfTheRound) {
  for (const bool decoupled : {false, true}) {
    auto setting = decoupled ? adam(true) : OptimizerSetting{.learning_rate = 0.5};
    setting.schedule = {.decay = RateSchedule::Decay::step, .step_every = 2, .step_factor = 0.25};
    Optimizer optimizer(setting, 1);
    EXPECT_EQ(optimizer.rate_at({1}), setting.learning_rate);
    EXPECT_EQ(optimizer.rate_at({2}), 0.25 * setting.learning_rate);
    std::vector<double> steps;
    for (std::int64_t round = 0; round < 4; ++round) {
      std::vector<float> model = {0.0F};
      optimizer.begin_update({round});
      optimizer.apply(model, std::vector<float>{2.0F}, 1.0, 0);
      steps.push_back(static_cast<double>(model[0]));
    }
    EXPECT_NEAR(steps[1], steps[0], 1e-6);
    EXPECT_NEAR(steps[2], 0.25 * steps[0], 1e-6);
    EXPECT_NEAR(steps[3], 0.25 * steps[0], 1e-6);
  }
}

/// Algorithms that weigh a gradient mean the step, which for Adam does not depend on the size of the
/// gradient.
TEST(Optimizer, HalfTheWeightIsHalfTheStep) {
  for (const auto& setting : {OptimizerSetting{.learning_rate = 0.5}, adam(false), adam(true, 0.5)}) {
    std::vector<float> whole = {2.0F}, half = {2.0F};
    for (auto* model : {&whole, &half}) {
      Optimizer optimizer(setting, 1);
      optimizer.begin_update({}, model == &half ? 0.5 : 1.0);
      optimizer.apply(*model, std::vector<float>{3.0F}, 1.0, 0);
    }
    EXPECT_NEAR(2.0F - half[0], 0.5F * (2.0F - whole[0]), 2e-3F);
  }
}

/// Three buckets: 5 trained and 2 statistics, 4 trained, 1 trained and 3 statistics.
ModelDescription three_buckets() {
  ModelDescription description;
  description.buckets = {{.offset = 0, .parameters = 5, .statistics = 2, .forward = {}, .backward = {}},
                         {.offset = 7, .parameters = 4, .statistics = 0, .forward = {}, .backward = {}},
                         {.offset = 11, .parameters = 1, .statistics = 3, .forward = {}, .backward = {}}};
  return description;
}

TEST(ApplyUpdate, AssignsStatistics) {
  const auto description = three_buckets();
  Rng rng(1);
  auto model = random_values(rng, 15);
  const auto before = model;
  const auto gradient = random_values(rng, 15);
  Sgd sgd(0.1, 0.0, 0.0, 15);
  apply_update(sgd, description, 0, model, gradient, 0.5);
  for (const std::size_t i : {5U, 6U, 12U, 13U, 14U}) EXPECT_EQ(model[i], 0.5F * gradient[i]) << i;
  for (const std::size_t i : {0U, 4U, 7U, 10U, 11U})
    EXPECT_FLOAT_EQ(model[i], before[i] - 0.1F * 0.5F * gradient[i]) << i;
}

TEST(ApplyUpdate, KeepsStatisticsThatAreNotExchanged) {
  auto description = three_buckets();
  for (auto& bucket : description.buckets) bucket.shares_statistics = false;
  EXPECT_EQ(description.elements(), 15);
  EXPECT_EQ(description.buckets[2].bytes(), Bytes(4));
  Rng rng(1);
  auto model = random_values(rng, 15);
  const auto before = model;
  const auto gradient = random_values(rng, 15);
  Sgd sgd(0.1, 0.0, 0.0, 15);
  apply_update(sgd, description, 0, model, gradient, 0.5);
  for (const std::size_t i : {5U, 6U, 12U, 13U, 14U}) EXPECT_EQ(model[i], before[i]) << i;
  for (const std::size_t i : {0U, 4U, 7U, 10U, 11U})
    EXPECT_FLOAT_EQ(model[i], before[i] - 0.1F * 0.5F * gradient[i]) << i;
}

TEST(ApplyUpdate, ShardsTogetherEqualOneShard) {
  const auto description = three_buckets();
  for (std::int64_t cut = 1; cut < 15; ++cut) {
    SCOPED_TRACE("cut " + std::to_string(cut));
    const auto at = static_cast<std::size_t>(cut);
    Rng rng(static_cast<std::uint64_t>(cut));
    auto whole = random_values(rng, 15);
    auto sharded = whole;
    Sgd all(0.1, 0.9, 1e-3, 15);
    Sgd low(0.1, 0.9, 1e-3, cut);
    Sgd high(0.1, 0.9, 1e-3, 15 - cut, cut);
    for (int step = 0; step < 3; ++step) {
      const auto gradient = random_values(rng, 15);
      const std::span<const float> view(gradient);
      apply_update(all, description, 0, whole, gradient, 0.5);
      apply_update(low, description, 0, std::span(sharded).first(at), view.first(at), 0.5);
      apply_update(high, description, cut, std::span(sharded).subspan(at), view.subspan(at), 0.5);
    }
    EXPECT_EQ(whole, sharded);
  }
}

TEST(SgdDeathTest, RefusesAStretchOutsideItsRange) {
  Sgd sgd(0.1, 0.9, 0.0, 10, 5);
  std::vector<float> model(4);
  const std::vector<float> gradient(4);
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0, 12), "position 12");
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0, 4), "position 4");
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0), "10");
}

}  // namespace TANDEM_FILE
}  // namespace tandem
