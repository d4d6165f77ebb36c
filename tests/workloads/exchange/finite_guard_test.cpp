// Detection of non-finite values in a gradient, and what skipping leaves of the gradient.
#include "workloads/exchange/finite_guard.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <ostream>

namespace tandem {
namespace TANDEM_FILE {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Bucket 0: "last" with three elements. Bucket 1: "first" with two, and the statistic "mean" with one.
ModelDescription two_buckets() {
  ModelDescription model{.name = "two", .tensors = {}, .buckets = {}};
  model.tensors = {{.name = "first", .shape = {2}, .offset = 3},
                   {.name = "mean", .shape = {1}, .statistic = true, .offset = 5},
                   {.name = "last", .shape = {3}, .offset = 0}};
  model.buckets.push_back({.offset = 0, .parameters = 3, .forward = Flops(1), .backward = Flops(1)});
  model.buckets.push_back(
      {.offset = 3, .parameters = 2, .statistics = 1, .forward = Flops(1), .backward = Flops(1)});
  return model;
}

/// One step: the statistic is 0.5 before it and `statistic` after its forward.
struct Step {
  explicit Step(OnNonFinite setting) : guard(description, setting) {}
  void run(std::vector<float> computed, double loss = 1.0, float statistic = 0.75F) {
    guard.begin(model);
    model.back() = statistic;
    gradient.assign(computed.size(), 7.0F);
    for (int bucket = 0; bucket < 2; ++bucket) {
      const auto& extent = description.buckets[static_cast<std::size_t>(bucket)];
      for (auto at = static_cast<std::size_t>(extent.offset);
           at < static_cast<std::size_t>(extent.offset + extent.elements()); ++at)
        gradient[at] = at == 5 ? model[5] : computed[at];
      guard.inspect(bucket, gradient);
      guard.conclude(bucket, loss, model, gradient);
    }
  }
  ModelDescription description = two_buckets();
  FiniteGuard guard;
  std::vector<float> model = {1, 2, 3, 4, 5, 0.5F};
  std::vector<float> gradient;
};

const std::vector<float> sound = {1, -2, 3, std::numeric_limits<float>::max(), 0, 0};

TEST(FiniteGuard, FindsNothingInFiniteGradients) {
  for (const OnNonFinite setting : {OnNonFinite::stop, OnNonFinite::skip, OnNonFinite::ignore}) {
    Step step(setting);
    step.run(sound);
    EXPECT_FALSE(step.guard.non_finite());
    EXPECT_EQ(step.gradient[3], sound[3]);
    EXPECT_EQ(step.gradient[5], 0.75F);
    EXPECT_EQ(step.model[5], 0.75F);
  }
}

TEST(FiniteGuard, NamesTheFirstNonFiniteTensor) {
  Step step(OnNonFinite::stop);
  for (const float value : {nan, infinity, -infinity}) {
    step.run({1, 2, 3, 4, value, 0});
    EXPECT_EQ(step.guard.non_finite(), "the gradient of 'first'");
    step.run({1, 2, value, 4, value, 0});
    EXPECT_EQ(step.guard.non_finite(), "the gradient of 'last'");
    step.run({1, 2, 3, 4, 5, 0}, 1.0, value);
    EXPECT_EQ(step.guard.non_finite(), "the gradient of 'mean'");
    step.run({1, 2, 3, 4, 5, 0}, value);
    EXPECT_EQ(step.guard.non_finite(), "the loss");
  }
  step.run(sound);
  EXPECT_FALSE(step.guard.non_finite()) << "left from the previous step";
}

TEST(FiniteGuard, StoppingChangesNothing) {
  Step step(OnNonFinite::stop);
  step.run({1, 2, infinity, 4, 5, 0}, 1.0, 0.25F);
  EXPECT_EQ(step.gradient, (std::vector<float>{1, 2, infinity, 4, 5, 0.25F}));
  EXPECT_EQ(step.model[5], 0.25F);
}

TEST(FiniteGuard, SkippingZerosTheGradientFromTheNonFiniteBucketOn) {
  Step step(OnNonFinite::skip);
  step.run({1, 2, 3, nan, 5, 0}, 1.0, nan);
  EXPECT_EQ(step.gradient, (std::vector<float>{1, 2, 3, 0, 0, 0.5F}));
  EXPECT_EQ(step.model, (std::vector<float>{1, 2, 3, 4, 5, 0.5F}));
  step.run({1, nan, 3, 4, 5, 0});
  EXPECT_EQ(step.gradient, (std::vector<float>{0, 0, 0, 0, 0, 0.5F})) << "also finite buckets";
  step.run({1, 2, 3, 4, 5, 0}, nan);
  EXPECT_EQ(step.gradient, (std::vector<float>{0, 0, 0, 0, 0, 0.5F})) << "skips the whole step";
}

TEST(FiniteGuard, IgnoringDoesNotLook) {
  Step step(OnNonFinite::ignore);
  step.run({nan, 2, 3, 4, 5, 0}, nan);
  EXPECT_FALSE(step.guard.non_finite());
  EXPECT_EQ(step.gradient[1], 2.0F);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
