// A small suite from its file to its report, with real mpirun: what is run, kept, rejected and reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class SuiteRuns : public ::testing::Test {
 protected:
  SuiteRuns() {
    const std::string experiment = fs::path(line_.experiment()).filename().string();
    line_.write("suite.yaml", "experiments: " + experiment +
                                  "\nset:\n  workload.math: modelled\n  stop.rounds: 6\n  warmup_steps: 1\n"
                                  "  placement.workers: '[node-1, node-2]'\n"
                                  "grid:\n  workload.batch: [4, 8]\n"
                                  "calibration:\n  workload.batch: [4]\ntolerance: 1000\n");
  }
  json read(const std::string& name) const {
    std::ifstream file(line_.folder() / name);
    return json::parse(file);
  }
  /// No error exceeds the tolerance, but other programs may disturb the measurement.
  static void expect_conclusion(const CommandResult& result, const json& report) {
    const bool passed = report.at("passed");
    EXPECT_EQ(result.exit_code, passed ? 0 : 1) << result.output;
    if (!passed) {
      EXPECT_EQ(report.at("state"), "INCONCLUSIVE") << result.output;
    }
  }
  /// One of the configurations cannot run: a file has the name of its folder.
  void goes_on_after_a_failure(const std::string& profile) {
    line_.write("second/batch=8", "in the way");
    line_.write("second/INCOMPLETE", "");
    const auto result = line_.tandem("validate suite.yaml --out second --resume --profile " + profile);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    const json report = read("second/report.json");
    EXPECT_EQ(report["configurations"][0]["failure"], "");
    EXPECT_THAT(report["configurations"][1]["failure"].get<std::string>(), HasSubstr("batch=8"));
    EXPECT_FALSE(report["passed"].get<bool>());
  }
  CommandLine line_;
};
using LongSuiteRuns = SuiteRuns;

TEST_F(LongSuiteRuns, RunsToItsReportAndResumesAfterAnInterruption) {
  const auto first = line_.tandem("validate suite.yaml --out out --trace-both");
  const json report = read("out/report.json");
  expect_conclusion(first, report);
  ASSERT_EQ(report["configurations"].size(), 2U);
  goes_on_after_a_failure("out/profile.json");
  EXPECT_EQ(report["sets"][0]["name"], "hold-out");
  EXPECT_EQ(report["sets"][0]["configurations"], 1);
  for (const auto& configuration : report["configurations"]) {
    EXPECT_EQ(configuration["failure"], "");
    EXPECT_EQ(configuration["gates"]["operations"]["state"], "passed");
  }
  EXPECT_EQ(report["profiles"][0]["settings_of"], "batch=4");
  EXPECT_EQ(report["configurations"][0]["set"], "calibration");

  // One run is missing, as after an interruption; the others are kept.
  const auto kept = fs::last_write_time(line_.folder() / "out/batch=4/measured-0/run.json");
  const auto calibrated = fs::last_write_time(line_.folder() / "out/profile.json");
  fs::remove(line_.folder() / "out/batch=8/measured-0/run.json");
  line_.write("out/batch=8/measured-0/INCOMPLETE", "");
  line_.write("out/INCOMPLETE", "");
  const auto resumed = line_.tandem("validate suite.yaml --out out --resume");
  expect_conclusion(resumed, read("out/report.json"));
  EXPECT_EQ(fs::last_write_time(line_.folder() / "out/batch=4/measured-0/run.json"), kept);
  EXPECT_EQ(fs::last_write_time(line_.folder() / "out/profile.json"), calibrated);
  EXPECT_TRUE(fs::exists(line_.folder() / "out/batch=8/measured-0/run.json"));
  EXPECT_FALSE(fs::exists(line_.folder() / "out/INCOMPLETE"));

  // A profile that was measured after the runs could depend on them.
  json profile = read("out/profile.json");
  profile["date"] = "2999-01-01T00:00:00Z";
  line_.write("late.json", profile.dump());
  // The median of several simulations was compared; the recorded command names it.
  const std::string simulated =
      report["configurations"][0]["environment"]["simulated"]["command"].get<std::string>();
  const auto name = simulated.find("out/batch=4/simulated");
  const std::string both =
      simulated.substr(name, simulated.find(' ', name) - name) + " out/batch=4/measured-0";
  const auto traced = line_.tandem("compare " + both + " --tolerance 1000 --trace both.json");
  EXPECT_TRUE(traced.exit_code == 0 || traced.output.find("INCONCLUSIVE") != std::string::npos)
      << traced.output;
  EXPECT_EQ(read("both.json"), read("out/batch=4/trace.json"));
  line_.write("out/profile.json", profile.dump());
  const auto late = line_.tandem("compare " + both + " --tolerance 1000");
  EXPECT_EQ(late.exit_code, 2);
  EXPECT_THAT(late.output, HasSubstr("after the run"));
  const auto resumed_late = line_.tandem("validate suite.yaml --out out --resume --only batch=4");
  EXPECT_EQ(resumed_late.exit_code, 2) << resumed_late.output;
  EXPECT_THAT(resumed_late.output, HasSubstr("after the run"));
}

TEST_F(SuiteRuns, BadInputWritesNothing) {
  EXPECT_EQ(line_.tandem("validate suite.yaml --only batch=5 --out out").exit_code, 2);
  EXPECT_THAT(line_.tandem("validate --only batch=5 suite.yaml --out out").output, HasSubstr("batch=5"));
  EXPECT_EQ(line_.tandem("validate suite.yaml --set workload.batch=5 --out out").exit_code, 2);
  EXPECT_EQ(line_.tandem("validate suite.yaml --profile nothing.json --out out").exit_code, 2);
  EXPECT_EQ(line_.tandem("validate suite.yaml --set stop.rounds=many --out out").exit_code, 2);
  EXPECT_FALSE(fs::exists(line_.folder() / "out"));
  const auto list = line_.tandem("validate suite.yaml --list");
  EXPECT_EQ(list.output, "batch=4  (calibration set)\nbatch=8\n");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
