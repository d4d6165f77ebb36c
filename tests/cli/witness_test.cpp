// `tandem simulate --fidelity smpi` as a user sees it: the same operations as the simulator, and on a plain
// star the same times.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Five equal hosts on a switch.
const char* const star = R"(<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="lab" prefix="h" suffix="" radical="0-4" speed="2Gf" bw="125MBps" lat="50us"/>
</platform>
)";

class Witness : public ::testing::TestWithParam<const char*> {};

nlohmann::json document(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST_P(Witness, AgreesWithTheSimulatorOnAPlainStar) {
  CommandLine line;
  line.write("star.xml", star);
  const std::string experiment = line.write("star.yaml",
                                            "platform: star.xml\n"
                                            "workload: {math: modelled, model: lenet, batch: 32}\n"
                                            "placement: {workers: [h0, h1, h2, h3], servers: [h4]}\n"
                                            "stop: {rounds: 8}\n");
  const std::string words = "simulate " + experiment + " " + GetParam() + " --operations --decisions --out ";
  const auto simulated = line.tandem(words + "transfers");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto witnessed = line.tandem(words + "smpi --fidelity smpi");
  ASSERT_EQ(witnessed.exit_code, 0) << witnessed.output;

  const double expected = document(line.folder() / "transfers/summary.json").at("makespan_s").get<double>();
  const double found = document(line.folder() / "smpi/summary.json").at("makespan_s").get<double>();
  EXPECT_NEAR(found, expected, 0.01 * expected);
  const auto run = document(line.folder() / "smpi/run.json");
  EXPECT_EQ(run.at("world"), "smpi");
  EXPECT_EQ(run.at("physics").at("fidelity"), "smpi");

  const auto compared = line.tandem("compare transfers smpi");
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
  EXPECT_NE(compared.output.find("parity passed"), std::string::npos) << compared.output;
}

INSTANTIATE_TEST_SUITE_P(Routes, Witness,
                         ::testing::Values("", "--set sync.over=all-reduce --set placement.servers=[]"));
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, Witness,
                         ::testing::Values("--set sync.algorithm=local-sgd",
                                           "--set sync.over=all-reduce --set placement.servers=[] --set "
                                           "sync.collective=halving-doubling"));

/// SMPI implements MPI_Iallreduce with its own algorithm: the operations are the same, the times may differ.
TEST(LongWitnessCommand, SupportsTheNativeAllReduce) {
  CommandLine line;
  const std::string words = "simulate " + line.experiment() +
                            " --set sync.over=all-reduce --set "
                            "sync.collective=native --operations --decisions --out ";
  ASSERT_EQ(line.tandem(words + "transfers").exit_code, 0);
  const auto witnessed = line.tandem(words + "smpi --fidelity smpi");
  ASSERT_EQ(witnessed.exit_code, 0) << witnessed.output;
  const auto compared = line.tandem("compare transfers smpi");
  EXPECT_NE(compared.output.find("parity passed"), std::string::npos) << compared.output;
}

TEST(WitnessCommand, AnUnknownFidelityIsBadInput) {
  CommandLine line;
  const auto result = line.tandem("simulate " + line.experiment() + " --fidelity exact");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.output.find("transfers"), std::string::npos) << result.output;
}

TEST(WitnessCommand, StopsNoSteps) {
  CommandLine line;
  const auto result =
      line.tandem("simulate " + line.experiment() +
                  " --fidelity smpi --set sync.algorithm=ringmaster --set sync.options.cancel=true");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.output.find("expected sync.options.cancel false"), std::string::npos) << result.output;
}

TEST(WitnessCommand, RunsTheSameTrainingAsTheSimulator) {
  CommandLine line("real");
  const std::string words =
      "simulate " + line.experiment("evaluate_every: 2\n") + " --set placement.evaluator=server --out ";
  ASSERT_EQ(line.tandem(words + "transfers").exit_code, 0);
  const auto witnessed = line.tandem(words + "smpi --fidelity smpi");
  ASSERT_EQ(witnessed.exit_code, 0) << witnessed.output;
  const auto curve = [&](const char* name) {
    std::vector<double> accuracies;
    const auto summary = document(line.folder() / name / "summary.json");
    for (const auto& point : summary.at("evaluations"))
      accuracies.push_back(point.at("accuracy").get<double>());
    return accuracies;
  };
  ASSERT_FALSE(curve("smpi").empty());
  EXPECT_EQ(curve("transfers"), curve("smpi"));
}

TEST(WitnessCommand, NeedsNoOpenMpi) {
  CommandLine line;
  const auto result = line.shell("ldd \"$TANDEM\"");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output.find("libmpi"), std::string::npos) << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
