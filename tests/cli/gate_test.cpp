// The simulation predicts measured times: a part of the lab on an emulated cluster, where this machine has
// the rights for one and is not disturbed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/planned_job.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::HasSubstr;

/// As in disturbance.hpp: the share of the cores that other programs used.
constexpr double disturbing_load = 0.1;
/// Largest error of step time.
constexpr double tolerance = 0.08;
/// Of the median of an ensemble, where no measured run is in its interval: one of ten runs is outside by
/// definition, and simulated workers fall less into step
/// (validation/reports/asynchronous.md).
constexpr double tolerance_of_median = 0.15;

const json& step_time_of(const json& configuration) {
  for (const auto& figure : configuration.at("figures"))
    if (figure.at("key") == "step_time" && figure.at("rank") == -1) return figure;
  return configuration.at("figures").at(0);
}

void expect_predicted(const json& configuration) {
  const std::string name = configuration.at("name");
  const json& steps = step_time_of(configuration);
  const double error = steps.at("error");
  if (steps.at("ensemble").is_null()) {
    EXPECT_LE(std::abs(error), tolerance) << name;
    return;
  }
  EXPECT_TRUE(steps.at("ensemble").at("inside") > 0 || std::abs(error) <= tolerance_of_median)
      << name << ": error " << error << ", no measured run between " << steps.at("ensemble").at("low")
      << " s and " << steps.at("ensemble").at("high") << " s";
}

/// Validates the configurations of the gate that `only` (options) chooses, with that many ensembles.
void expect_all_predicted(const std::string& only, std::size_t expected_ensembles) {
  const CommandLine line;
  const auto result = line.tandem("validate '" + testing::source_folder() +
                                  "/validation/suites/gate.yaml' --tolerance 1000 --out out" + only);
  if (result.exit_code == 2 && result.output.find("an emulated cluster needs") != std::string::npos)
    GTEST_SKIP() << result.output;
  std::ifstream file(line.folder() / "out/report.json");
  ASSERT_TRUE(file) << result.output;
  const json report = json::parse(file);
  for (const auto& profile : report.at("profiles"))
    if (const double load = profile.value("other_load", 0.0); load > disturbing_load)
      GTEST_SKIP() << "other programs used " << load << " of this machine during the calibration";
  std::size_t ensembles = 0, disturbed = 0;
  for (const auto& configuration : report.at("configurations")) {
    ASSERT_EQ(configuration.at("failure"), "") << configuration.at("name");
    ensembles += step_time_of(configuration).at("ensemble").is_null() ? 0 : 1;
    if (configuration.at("other_load") > disturbing_load) {
      ++disturbed;
      std::cout << "not judged, because other programs used this machine: " << configuration.at("name")
                << '\n';
      continue;
    }
    expect_predicted(configuration);
  }
  EXPECT_EQ(ensembles, expected_ensembles);
  if (2 * disturbed > report.at("configurations").size())
    GTEST_SKIP() << "other programs used this machine during " << disturbed << " of "
                 << report.at("configurations").size() << " configurations";
}

TEST(Gate, TheSimulationPredictsStepTimesOverAServerAndOverARing) {
  expect_all_predicted(" --only boards/bsp --only boards/ring", 0);
}

/// asp and ssp have ensembles.
TEST(LongGate, TheSimulationPredictsMeasuredStepTimes) { expect_all_predicted("", 2); }

using LongPlannedJob = PlannedJob;

/// As the bills of `tandem validate PLAN/suite.yaml`, with three fates of a short job.
TEST_F(LongPlannedJob, RealRunsArePaidAsForetold) {
  plan(": one spot' --max-machines 2 --set stop.rounds=20 --set transience.time_scale=20");
  const auto run = line_.tandem("run out/experiment.yaml --out run");
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, ::testing::ContainsRegex("\n  cost: .*\n  forecast of the plan: cost \\$"));
  EXPECT_THAT(read("out/suite.yaml"), HasSubstr("grid: {seed: [1, 2, 3, "));
  line_.write("out/suite.yaml", "experiments: [experiment.yaml]\ngrid: {seed: [1, 2, 3]}\n");
  const auto checked = line_.tandem("validate out/suite.yaml --tolerance 1000 --out checked");
  ASSERT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_THAT(checked.output, HasSubstr("Bill of 3 runs of a planned job: paid $"));
  const json bills = json::parse(read("checked/report.json")).at("bills");
  EXPECT_EQ(bills.at("runs"), 3);
  EXPECT_NEAR(bills.at("cost").at("error").get<double>(), 0.0, 0.2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
