// Forms of predictors in their files: what is read again predicts the same, and what is no form is refused.
#include "workloads/cost/step_predictor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/experiment/json_fields.hpp"

namespace tandem {
namespace TANDEM_FILE {

using estimates::FittedForm;
using nlohmann::json;

/// Two support vectors.
FittedForm with_centres() {
  return {.name = "svr",
          .is_logarithmic = true,
          .least = {0.0},
          .span = {2.0},
          .terms = {{{0}, -3.0}},
          .centres = {{{0.0}, 0.5}, {{1.0}, -0.25}},
          .gamma = 0.3};
}

FittedForm with_layers() {
  return {.name = "roofline",
          .least = {0.0},
          .span = {1.0},
          .terms = {{{0}, 2e-3}},
          .layer_times = estimates::LayerTimes{.flop_s = 1e-12, .byte_s = 1e-10, .launch_s = 1e-5}};
}

json file_of(const FittedForm& form) {
  json device = {
      {"device", "t4"}, {"precision", "fp32"}, {"batch", {1.0, 8.0}}, {"form", write_fields(form)}};
  device["seen"].push_back(json{{"feature", "matrix_flops"}, {"least", 1.0}, {"most", 1e12}});
  device["folds"].push_back(write_fields(estimates::FoldOfGroup{"net", form, {0.0}}));
  json document = {{"predictor", "speed"}, {"counts_batch", true}};
  document["features"].push_back("matrix_flops");
  document["devices"].push_back(std::move(device));
  return document;
}

double predicted(const FittedForm& form, const ModelFeatures& model) {
  const testing::TemporaryFolder folder;
  const StepPredictor predictor = load_step_predictor(folder.write("speed.json", file_of(form).dump()));
  return predict_step(predictor, "t4", Precision::fp32, 2, model).value.count();
}

/// Two samples: a layer of 1e8 flops and 5e6 bytes, of which 1e6 are parameters.
TEST(StepPredictor, ReadsAllKindsOfForms) {
  ModelFeatures model;
  model.matrix_flops = Flops(5e7);
  model.layers = {
      {.flops = Flops(5e7), .bytes = Bytes(2'000'000), .parameter_bytes = Bytes(1'000'000), .launches = 3}};
  model.optimizer_bytes = Bytes(4'000'000);
  EXPECT_NEAR(predicted(with_layers(), model), 2e-3 + 5e6 * 1e-10 + 3e-5 + 4e6 * 1e-10, 1e-12);
  const double scaled = std::log(1e8) / 2.0;
  const double bumps =
      0.5 * std::exp(-0.3 * scaled * scaled) - 0.25 * std::exp(-0.3 * (scaled - 1) * (scaled - 1));
  EXPECT_NEAR(predicted(with_centres(), model), std::exp(-3.0 + bumps), 1e-12);
}

/// Of a table without devices, for any device: two seconds, whatever the model.
TEST(StepPredictor, GivesTimesOfCheckpoints) {
  const testing::TemporaryFolder folder;
  FittedForm constant = {.name = "mean", .least = {0.0}, .span = {1.0}, .terms = {{{0}, 2.0}}};
  json document = file_of(constant);
  document["predictor"] = "checkpoint";
  document["devices"][0]["device"] = nullptr;
  const std::string file = folder.write("checkpoint.json", document.dump());
  ModelFeatures model;
  model.matrix_flops = Flops(5e7);
  EXPECT_NEAR(predict_checkpoint(load_commit_predictor(file), "any", model).value.count(), 2.0, 1e-12);
  EXPECT_THROW(load_step_predictor(file), ConfigError);
  document["devices"][0]["device"] = "t4";
  const std::string of_device = folder.write("of_device.json", document.dump());
  EXPECT_THROW(predict_checkpoint(load_commit_predictor(of_device), "k80", model), ConfigError);
}

TEST(StepPredictor, RefusesFormsOfOtherFeatures) {
  const testing::TemporaryFolder folder;
  FittedForm damaged = with_centres();
  damaged.centres[1].at.push_back(0.0);
  try {
    load_step_predictor(folder.write("speed.json", file_of(damaged).dump()));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("/devices/0: expected forms and ranges of the features"));
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
