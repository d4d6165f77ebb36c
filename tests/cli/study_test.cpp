// `tandem study` as a user sees it: a small grid simulated end to end, its report, and the ways in which it
// ends early.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace {

using nlohmann::json;

json read(const std::filesystem::path& path) { return json::parse(std::ifstream(path)); }

class Study : public ::testing::Test {
 protected:
  Study() {
    line_.experiment("variants:\n  bsp: {}\n  asp: {sync.algorithm: asp}\n");
    line_.write(
        "study.yaml",
        "experiments: experiment.yaml\nset: {workload.math: modelled}\n"
        "grid: {placement.worker_count: [2, 4]}\n"
        "study: {about: two or four, published: [{configuration: worker_count=4/asp, figure: speed_up, "
        "value: 2, source: nobody}]}\n");
  }
  CommandLine line_;
};

TEST_F(Study, SimulatesEveryConfigurationAndReportsThem) {
  const auto result = line_.tandem("study study.yaml --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* part : {"worker_count=2/asp", "worker_count=4/bsp", "out/report.html", "Knee"})
    EXPECT_NE(result.output.find(part), std::string::npos) << part << "\n" << result.output;
  const json report = read(line_.folder() / "out" / "report.json");
  EXPECT_EQ(report.at("kind"), "study");
  ASSERT_EQ(report.at("configurations").size(), 4U);
  for (const auto& own : report.at("configurations")) {
    EXPECT_EQ(own.at("failure"), "");
    EXPECT_TRUE(own.at("exchange_shares").is_object());
    EXPECT_EQ(own.at("workers"), own.at("group") == "worker_count=2" ? 2 : 4);
    EXPECT_TRUE(own.at("speed_up").is_number());
  }
  EXPECT_EQ(report.at("lines").size(), 2U);
  EXPECT_TRUE(report.at("published")[0].at("ratio").is_number());
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "report.md"));
}

TEST_F(Study, FiguresAreThoseOfTheSimulationAlone) {
  ASSERT_EQ(line_.tandem("study study.yaml --out out --only worker_count=2/asp").exit_code, 0);
  ASSERT_EQ(line_
                .tandem("simulate experiment.yaml --variant asp --set workload.math=modelled --set "
                        "placement.worker_count=2 --out alone")
                .exit_code,
            0);
  const json report = read(line_.folder() / "out" / "report.json");
  const json alone = read(line_.folder() / "alone" / "summary.json");
  const json& own = report.at("configurations").at(0);
  EXPECT_EQ(own.at("throughput"), alone.at("throughput"));
  EXPECT_EQ(own.at("bytes"), alone.at("bytes"));
  EXPECT_EQ(own.at("shares"), alone.at("shares"));
  EXPECT_EQ(own.at("step_time_s"), alone.at("step_time_s").at("mean"));
}

TEST_F(Study, ParallelJobsGiveTheSameResults) {
  ASSERT_EQ(line_.tandem("study study.yaml --out one --jobs 1").exit_code, 0);
  ASSERT_EQ(line_.tandem("study study.yaml --out three --jobs 3").exit_code, 0);
  const json one = read(line_.folder() / "one" / "report.json");
  const json three = read(line_.folder() / "three" / "report.json");
  EXPECT_EQ(one.at("lines"), three.at("lines"));
}

TEST_F(Study, TakesTheVariantsOfAnExperiment) {
  const auto result = line_.tandem("study experiment.yaml --set workload.math=modelled --out out");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(read(line_.folder() / "out" / "report.json").at("configurations").size(), 2U);
}

TEST_F(Study, ListNamesItsConfigurations) {
  const auto result = line_.tandem("study study.yaml --list");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output,
            "worker_count=2/asp\nworker_count=2/bsp\nworker_count=4/asp\nworker_count=4/bsp\n");
}

TEST_F(Study, BadInputLeavesNothing) {
  line_.write("bad.yaml", "experiments: experiment.yaml\ngrid: {placement.worker_count: [2, 9]}\n");
  const auto many = line_.tandem("study bad.yaml --out out");
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_NE(many.output.find("expected at most 4, the number of workers"), std::string::npos) << many.output;
  line_.write("worse.yaml", "experiments: experiment.yaml\nstudy: {kne: 0.5}\n");
  const auto unknown = line_.tandem("study worse.yaml --out out");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.output.find("did you mean 'knee'?"), std::string::npos) << unknown.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

TEST_F(Study, AFailedConfigurationIsReportedAmongTheOthers) {
  line_.write("half.yaml",
              "experiments: experiment.yaml\nvariants: [bsp]\nset: {workload.dataset_directory: /nowhere}\n"
              "grid: {workload.dataset: [synthetic, mnist]}\n");
  const auto result = line_.tandem("study half.yaml --out out");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_NE(result.output.find("mnist/bsp: failed"), std::string::npos) << result.output;
  const json report = read(line_.folder() / "out" / "report.json");
  for (const auto& own : report.at("configurations"))
    EXPECT_EQ(own.at("failure") == "", own.at("name") == "synthetic/bsp") << own.at("name");
}

TEST_F(Study, AnInterruptedStudyEndsItsProcesses) {
  line_.write("long.yaml",
              "experiments: experiment.yaml\nset: {workload.math: modelled, stop.rounds: 2000000}\n"
              "grid: {placement.worker_count: [2, 4]}\n");
  const auto result = line_.tandem_ended_early(
      "study long.yaml --jobs 2 --out out",
      {.processes = list_processes("tandem"), .when = "[ $(processes | wc -l) -ge 3 ]"});
  EXPECT_EQ(result.exit_code, 143) << result.output;
  EXPECT_EQ(result.output.find("failed"), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

}  // namespace
}  // namespace tandem::testing
