// Saved states of ranks: files that are incomplete are rejected, and optimisers resume exactly.
#include "workloads/checkpoint/saved_state.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/model/update_rules.hpp"

namespace tandem {
namespace TANDEM_FILE {

class SavedStates : public ::testing::Test {
 protected:
  template <class Action>
  static std::string error_of(const Action& action) {
    try {
      action();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path("round_1.worker_0.state");
};

TEST_F(SavedStates, RoundTripExactly) {
  std::int64_t large = std::numeric_limits<std::int64_t>::max() - 1;
  double third = 1.0 / 3.0;
  int small = -7;
  std::vector<float> values = {1.5F, std::numeric_limits<float>::denorm_min(),
                               -std::numeric_limits<float>::infinity()};
  SavedState saved;
  saved.number("large", large);
  saved.number("third", third);
  saved.number("small", small);
  saved.floats("values", values);
  saved.floats("none", {});
  saved.set_text("policy", "version=7 active=11");
  saved.save(path_);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".partial"));

  const auto expected = values;
  std::int64_t large_again = 0;
  double third_again = 0.0;
  int small_again = 0;
  values.assign(3, 0.0F);
  SavedState loaded = SavedState::load(path_);
  EXPECT_TRUE(loaded.restores());
  loaded.number("large", large_again);
  loaded.number("third", third_again);
  loaded.number("small", small_again);
  loaded.floats("values", values);
  loaded.floats("none", {});
  EXPECT_EQ(large_again, large);
  EXPECT_EQ(third_again, third);
  EXPECT_EQ(small_again, small);
  EXPECT_EQ(values, expected);
  EXPECT_EQ(SavedState::load_numbers(path_).integer("small"), -7);
  EXPECT_EQ(SavedState::load_numbers(path_).text("policy"), "version=7 active=11");
}

TEST_F(SavedStates, NameWhatIsMissing) {
  SavedState saved;
  std::vector<float> values = {1.0F, 2.0F};
  saved.floats("values", values);
  saved.save(path_);
  SavedState loaded = SavedState::load(path_);
  std::int64_t number = 5;
  EXPECT_EQ(error_of([&] { loaded.number("steps", number); }),
            "state '" + path_ + "': expected 'steps', found nothing of that name");
  EXPECT_EQ(error_of([&] { static_cast<void>(loaded.text("policy")); }),
            "state '" + path_ + "': expected a text 'policy', found none");
  std::vector<float> more(3);
  EXPECT_EQ(error_of([&] { loaded.floats("values", more); }),
            "state '" + path_ + "': expected 3 values of 'values', found 2");
  loaded.restore_known();
  loaded.number("steps", number);
  EXPECT_EQ(number, 5);
}

TEST_F(SavedStates, AreRefusedIfIncomplete) {
  EXPECT_NE(error_of([&] { SavedState::load(path_); }).find("cannot be opened"), std::string::npos);
  SavedState saved;
  std::vector<float> values(100, 1.0F);
  saved.floats("values", values);
  saved.save(path_);
  const auto whole = std::filesystem::file_size(path_);
  std::filesystem::resize_file(path_, whole - 1);
  EXPECT_EQ(error_of([&] { SavedState::load_numbers(path_); }),
            "state '" + path_ + "': incomplete: expected " + std::to_string(whole) + " bytes, found " +
                std::to_string(whole - 1));
  std::filesystem::resize_file(path_, 10);
  EXPECT_NE(error_of([&] { SavedState::load(path_); }).find("found other bytes"), std::string::npos);
}

TEST_F(SavedStates, OfAnOlderTandemAreRefused) {
  std::ofstream(path_) << R"({"format":"tandem state","numbers":{},"vectors":[],"version":2})" << '\n';
  EXPECT_EQ(
      error_of([&] { SavedState::load(path_); }),
      "state '" + path_ + "': expected format 'tandem state', version 3, found \"tandem state\", version 2");
}

/// Makes one update of a model; the gradient depends only on the number of the update.
struct Stepper {
  std::string name;
  std::function<void(std::vector<float>& model, int update)> step;
  std::function<void(StateArchive&)> serialise;
};

constexpr std::size_t elements = 50;

std::vector<float> gradient_of(int update) {
  Rng rng(static_cast<std::uint64_t>(update) + 1);
  std::vector<float> gradient(elements);
  for (float& value : gradient) value = static_cast<float>(rng.normal());
  return gradient;
}

Stepper optimizer(const std::string& name, const OptimizerSetting& setting) {
  const auto rule = std::make_shared<Optimizer>(setting, elements);
  return {name,
          [rule](std::vector<float>& model, int update) {
            rule->begin_update({update, 0});
            rule->apply(model, gradient_of(update), 1.0, 0);
          },
          [rule](StateArchive& state) { rule->serialise(state); }};
}

Stepper change_update(const std::string& name, const sync::OuterMomentum& outer) {
  const auto rule = std::make_shared<ChangeUpdate>(outer, 1.0, elements);
  return {name,
          [rule](std::vector<float>& model, int update) {
            rule->begin_update(0.1 / (1 + update));
            rule->apply(model, model, gradient_of(update), 0.25, 1.0, 0);
          },
          [rule](StateArchive& state) { rule->serialise(state); }};
}

Stepper compensator() {
  const auto rule = std::make_shared<DelayCompensator>(
      sync::DelayCompensation{.lambda = 2.0, .adaptive = true, .memory = 0.9}, elements);
  return {"adaptive compensation",
          [rule](std::vector<float>& model, int update) {
            auto gradient = gradient_of(update);
            rule->correct(gradient, model, gradient_of(update + 1000), 0);
            for (std::size_t i = 0; i < elements; ++i) model[i] -= 0.01F * gradient[i];
          },
          [rule](StateArchive& state) { rule->serialise(state); }};
}

std::vector<Stepper> steppers() {
  using Kind = OptimizerSetting::Kind;
  RateSchedule schedule{
      .decay = RateSchedule::Decay::step, .warmup_rounds = 3, .step_every = 4, .step_factor = 0.5};
  return {optimizer("sgd", {.weight_decay = 0.1, .schedule = schedule}),
          optimizer("momentum", {.momentum = 0.9, .nesterov = true, .schedule = schedule}),
          optimizer("adam", {.kind = Kind::adam, .schedule = schedule}),
          optimizer("adamw", {.kind = Kind::adamw, .weight_decay = 0.1}),
          change_update("outer momentum", {.rate = 0.7, .momentum = 0.9, .nesterov = true}),
          change_update("slow momentum", {.momentum = 0.7, .follows_learning_rate = true}),
          compensator()};
}

TEST_F(SavedStates, OptimisersResumeExactly) {
  const auto whole = steppers(), broken = steppers(), fresh = steppers();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    SCOPED_TRACE(whole[i].name);
    std::vector<float> expected(elements, 1.0F);
    for (int update = 0; update < 12; ++update) whole[i].step(expected, update);

    std::vector<float> model(elements, 1.0F);
    for (int update = 0; update < 5; ++update) broken[i].step(model, update);
    SavedState saved;
    broken[i].serialise(saved);
    saved.save(path_);
    SavedState loaded = SavedState::load(path_);
    fresh[i].serialise(loaded);
    for (int update = 5; update < 12; ++update) fresh[i].step(model, update);
    EXPECT_EQ(model, expected);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
