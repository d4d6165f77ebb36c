// SGD against PyTorch's definition written out in double, and its handling of stretches and statistics.
#include "workloads/optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace {

std::vector<float> random_values(Rng& rng, std::size_t count) {
  std::vector<float> values(count);
  for (auto& value : values) value = static_cast<float>(rng.normal());
  return values;
}

/// PyTorch's update rule, one element at a time; its buffer starts as the first gradient.
struct Reference {
  double learning_rate, momentum, weight_decay;
  std::vector<double> model, buffer;

  void step(const std::vector<float>& gradient, double scale) {
    const bool first = buffer.empty();
    if (first) buffer.resize(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double d = scale * static_cast<double>(gradient[i]) + weight_decay * model[i];
      buffer[i] = first ? d : momentum * buffer[i] + d;
      model[i] -= learning_rate * (momentum == 0.0 ? d : buffer[i]);
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

/// Three buckets: 5 trained and 2 statistics, 4 trained, 1 trained and 3 statistics.
ModelDescription three_buckets() {
  ModelDescription description;
  description.buckets = {{.offset = 0, .parameters = 5, .statistics = 2, .forward = {}, .backward = {}},
                         {.offset = 7, .parameters = 4, .statistics = 0, .forward = {}, .backward = {}},
                         {.offset = 11, .parameters = 1, .statistics = 3, .forward = {}, .backward = {}}};
  return description;
}

TEST(ApplyUpdate, TakesStatisticsAsValues) {
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

TEST(ApplyUpdate, ShardsTogetherDoWhatOneDoes) {
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

TEST(SgdDeathTest, RefusesAStretchThatIsNotItsOwn) {
  Sgd sgd(0.1, 0.9, 0.0, 10, 5);
  std::vector<float> model(4);
  const std::vector<float> gradient(4);
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0, 12), "position 12");
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0, 4), "position 4");
  EXPECT_DEATH(sgd.apply(model, gradient, 1.0), "10");
}

}  // namespace
}  // namespace tandem
