// Training that diverges, simulated and measured, as the user of the command sees it: with a learning rate
// that is far too high.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "validation/compare/compare.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

const std::string diverging = " --set optimizer.learning_rate=1e30 --out out";

class Diverging : public ::testing::TestWithParam<const char*> {
 protected:
  CommandLine line_{"real"};
};

TEST_P(Diverging, EndsAndNamesRankStepAndTensor) {
  const auto result = line_.tandem(GetParam() + (" " + line_.experiment()) + diverging);
  EXPECT_EQ(result.exit_code, 70) << result.output;
  for (const char* word : {"rank ", "step 1", "the gradient of '", "is not finite", "workload.non_finite"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

INSTANTIATE_TEST_SUITE_P(Worlds, Diverging, ::testing::Values("simulate", "run"));

TEST(LongSkipping, SkipsTheSameStepsInSimulationAndMeasurement) {
  CommandLine line("real");
  const std::string words = line.experiment() + " --set workload.non_finite=skip --decisions --operations" +
                            " --set optimizer.learning_rate=1e30 --out ";
  const auto simulated = line.tandem("simulate " + words + "simulated");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.output;
  const auto measured = line.tandem("run " + words + "measured");
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  for (const auto& text : {simulated.output, measured.output})
    EXPECT_NE(text.find("20 steps skipped (not finite)"), std::string::npos) << text;
  const auto ours = read_results((line.folder() / "simulated").string());
  const auto theirs = read_results((line.folder() / "measured").string());
  EXPECT_EQ(ours.summary.skipped_steps, 20) << "all steps but the first, of four workers";
  EXPECT_EQ(theirs.summary.skipped_steps, 20);
  EXPECT_EQ(theirs.journal.skipped_steps, 20);
  const auto comparison = validation::compare(ours, {theirs});
  using State = validation::Gate::State;
  EXPECT_EQ(comparison.operations.state, State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, State::passed) << comparison.decisions.detail;
}

TEST(NonFiniteKey, HasThreeValues) {
  CommandLine line;
  const auto result =
      line.tandem("simulate " + line.experiment() + " --set workload.non_finite=halt --out out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.output.find("stop | skip | ignore"), std::string::npos) << result.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
