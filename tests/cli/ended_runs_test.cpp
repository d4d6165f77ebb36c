// Runs and validations that fail, are refused or are interrupted, with real mpirun.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class EndedRuns : public ::testing::Test {
 protected:
  /// Ends a validation of a job of four ranks by SIGTERM as soon as the shell command succeeds.
  void interrupt_validation(const std::string& when) const {
    const auto result = line_.tandem_ended_early(
        "validate " + line_.experiment() +
            " --set placement.workers=[node-1,node-2] --set stop.rounds=4000 --out out",
        {.processes = list_processes("tandem|tandem-rank"), .when = when});
    EXPECT_EQ(result.exit_code, 143) << result.output;
  }
  CommandLine line_;
};
using LongEndedRuns = EndedRuns;

TEST_F(LongEndedRuns, AKilledRankIsNamedAndAllProcessesEnd) {
  const auto result =
      line_.tandem_ended_early("run " + line_.experiment() + " --set stop.rounds=100000 --out out",
                               {.processes = list_processes("tandem-rank"),
                                .when = has_started("out"),
                                .kill = "kill -9 $(processes | tail -n 1)"});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  EXPECT_NE(result.output.find("rank "), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
}

/// The rank of a store is the last one.
TEST_F(LongEndedRuns, AKilledStoreIsNamed) {
  const auto result = line_.tandem_ended_early(
      "run " + line_.experiment() +
          " --set stop.rounds=100000 --set data.source=storage --set placement.workers=[node-1] --set "
          "placement.servers=[node-2] --set placement.cache_nodes=[node-1] --set placement.stores=[server] "
          "--out out",
      {.processes = list_processes("tandem-rank"),
       .when = has_started("out"),
       .kill = "kill -9 $(for p in $(processes); do tr '\\0' '\\n' < /proc/$p/environ | "
               "grep -q '^OMPI_COMM_WORLD_RANK=3$' && echo $p; done)"});
  EXPECT_EQ(result.exit_code, 70) << result.output;
  for (const char* word : {"rank 3", "store", "server"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
}

TEST_F(LongEndedRuns, BadInputFoundOnlyByARankLeavesNoOutput) {
  line_.write("model.pt", "not a checkpoint");
  const auto result = line_.tandem("run " + line_.experiment() +
                                   " --set workload.math=real --set workload.initial=model.pt --out out");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  for (const char* word : {"model.pt", "rank ", " on host ", "of the platform"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out"));
}

/// As if one machine still had an older file.
TEST_F(LongEndedRuns, RanksWithOtherFilesDoNotStart) {
  if (line_.shell("unshare -m true").exit_code != 0) GTEST_SKIP() << "no right to a file system of its own";
  const std::string real = line_.experiment() + " --set workload.math=real ";
  const std::string run = "run " + real + "--set stop.rounds=1 --out ";
  ASSERT_EQ(line_.tandem(run + "first").exit_code, 0);
  ASSERT_EQ(line_.tandem(run + "other --set seed=2").exit_code, 0);
  line_.write(
      "wrapper",
      "[ \"$OMPI_COMM_WORLD_RANK\" = 2 ] || exec \"$@\"\n"
      "exec unshare -m sh -c 'mount --bind other/model.pt first/model.pt && exec \"$@\"' sh \"$@\"\n");
  const auto result = line_.shell("\"$TANDEM\" run " + real +
                                  "--set workload.initial=first/model.pt --print-command --out out | grep "
                                  "mpirun > line; sed 's#[^ ]*/tandem-rank #sh wrapper &#' line | sh");
  EXPECT_NE(result.exit_code, 0);
  for (const char* word : {"rank 2", "the initial model", "expected the same"})
    EXPECT_NE(result.output.find(word), std::string::npos) << word << "\n" << result.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out" / "summary.json"));
}

TEST_F(LongEndedRuns, AJobBeginsWithTheModelOfAnotherInBothWorlds) {
  const std::string real = line_.experiment() + " --set workload.math=real --set stop.rounds=4 ";
  ASSERT_EQ(line_.tandem("run " + real + "--out first").exit_code, 0);
  std::vector<double> losses;
  for (const char* world : {"simulate", "run"}) {
    const auto result = line_.tandem(world + (" " + real) + "--set workload.initial=first --out " + world);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    for (const StepRecord& step : read_results((line_.folder() / world).string()).journal.steps)
      if (step.rank == 0 && step.step == 0) losses.push_back(step.loss);
  }
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_EQ(losses[0], losses[1]);
  for (const StepRecord& step : read_results((line_.folder() / "first").string()).journal.steps)
    if (step.rank == 0 && step.step == 0) {
      EXPECT_LT(losses[0], step.loss);
    }
}

TEST_F(LongEndedRuns, AnInterruptedValidationEndsItsProcesses) {
  interrupt_validation("pgrep -P $run -f ' run ' > /dev/null && [ $(processes | wc -l) -ge 5 ]");
}

/// The rest of the validation is not carried out, and no report is written.
TEST_F(LongEndedRuns, AnInterruptedCalibrationEndsTheValidation) {
  interrupt_validation("[ -e out/profile.json.new.work/job.json ] && pgrep -P $run > /dev/null");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out/report.html"));
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out/INCOMPLETE"));
}

TEST_F(LongEndedRuns, DeviceMessagesUseTheRequestedTransportOrFail) {
  const std::string words =
      "run " + line_.experiment("run: {devices: native}\n") + " --set run.device_messages=";
  const auto staged = line_.tandem(words + "staged --out staged");
  EXPECT_EQ(staged.exit_code, 0) << staged.output;
  const auto peer = line_.tandem(words + "peer --out peer");
  EXPECT_EQ(peer.exit_code, 2) << peer.output;
  EXPECT_NE(peer.output.find("'run.device_messages': expected auto or staged, because no two ranks"),
            std::string::npos)
      << peer.output;
  const auto direct = line_.tandem(words + "direct --out direct");
  if (direct.exit_code == 0) GTEST_SKIP() << "this MPI reads the memory of GPUs";
  EXPECT_EQ(direct.exit_code, 2) << direct.output;
  EXPECT_NE(direct.output.find("'run.device_messages': expected auto or staged"), std::string::npos)
      << direct.output;
}

TEST_F(EndedRuns, PrintCommandPrintsTheLaunchCommand) {
  const auto result = line_.tandem("run " + line_.experiment() + " --out out --print-command");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("mpirun"), std::string::npos);
  EXPECT_NE(result.output.find("tandem-rank"), std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
