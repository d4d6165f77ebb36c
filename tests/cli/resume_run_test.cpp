// `tandem run --resume`: jobs that change, are killed or follow times. That resumed jobs end as uninterrupted
// ones: interruptions_test.cpp.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongResumeJobs = ResumeJobs;

class ResumeRunWithOthers : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

/// With another number of workers and another server's host, both worlds continue alike, in each from the
/// states of the other.
TEST_P(ResumeRunWithOthers, EndsLikeTheSimulation) {
  succeeds("run " + experiment(3, "--set evaluate_every=1 " + GetParam()) + " --out first");
  const std::string on =
      " --resume first --set placement.worker_count=3 --set placement.servers=[node-5] --set stop.rounds=6 "
      "--decisions --out ";
  expect_in("note: 3 workers instead of 4", succeeds("run" + on + "measured"));
  succeeds("simulate" + on + "simulated");
  expect_same_end("simulated", "measured", 3);
  expect_same_decisions("simulated", "measured");
}

INSTANTIATE_TEST_SUITE_P(LongMomentum, ResumeRunWithOthers,
                         ::testing::Values("--set optimizer.momentum=0.9"));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, ResumeRunWithOthers,
    ::testing::Values(
        "--set sync.algorithm=post-local-sgd --set sync.options.switch_round=4",
        "--set sync.algorithm=local-sgd --set optimizer.momentum=0.9 --set sync.compression=top-k"));

TEST_F(LongResumeJobs, AResumedJobStopsAtTheSameAccuracy) {
  const std::string stop = " --set stop.rounds=60 --set stop.accuracy=0.6 ";
  const std::string settings = "--set optimizer.learning_rate=0.05";
  expect_in("stopped by stop.accuracy 0.6: evaluation ",
            succeeds("simulate " + experiment(60, settings) + " --set stop.accuracy=0.6 --out whole"));
  succeeds("run " + experiment(4, settings) + " --out first");
  succeeds("run --resume first" + stop + "--out second");
  expect_same_end("whole", "second", 4);
  const auto round = [&](const char* out) {
    return to_json(results(out).summary).at("accuracy_stop").at("round");
  };
  EXPECT_GT(round("whole"), 4);
  EXPECT_EQ(round("whole"), round("second"));
}

TEST_F(ResumeJobs, AnAccuracyThatIsNotReachedLeavesTheOtherLimit) {
  expect_in("stop.accuracy 1 was not reached; another limit of stop ended the job",
            succeeds("simulate " + experiment(4) + " --set stop.accuracy=1 --out out"));
  EXPECT_TRUE(to_json(results("out").summary).at("accuracy_stop").is_null());
  EXPECT_EQ(results("out").summary.rounds, 4.0);
}

TEST_F(LongResumeJobs, AKilledRunResumesFromItsLatestCompleteCheckpoint) {
  // The ranks end with mpirun, and mpirun ends with the command.
  const auto killed = line_.shell(
      "\"$TANDEM\" run " + experiment(100000, "--set optimizer.momentum=0.9") +
      " --out killed & job=$!; "
      "while [ ! -e killed/checkpoints/round_00000004.pt ]; do kill -0 $job || exit 9; sleep 0.02; done; "
      "kill -KILL $job; wait $job; while left=$(" +
      list_processes("tandem-rank|tandem-guard|mpirun") +
      "); [ -n \"$left\" ]; do sleep 0.05; done; [ -e killed/INCOMPLETE ]");
  ASSERT_EQ(killed.exit_code, 0) << killed.output;
  // How many rounds the run completed depends on the machine.
  const int end = newest_commit("killed") + 4;
  succeeds("run --resume killed --set stop.rounds=" + std::to_string(end) + " --out resumed");
  const auto round = static_cast<int>(results("resumed").info.resumed.value().round);
  ASSERT_GE(round, 2);
  ASSERT_LT(round, end);
  succeeds("simulate " + experiment(end, "--set optimizer.momentum=0.9") + " --out whole");
  expect_same_end("whole", "resumed", round);
}

/// The model is the last file that the job writes: there may be a checkpoint at its end, too.
TEST_F(LongResumeJobs, AJobWhoseModelCannotBeWrittenSaysHowToResume) {
  for (const int rounds : {40, 41}) {
    SCOPED_TRACE(rounds);
    const std::string words = experiment(rounds, "--set optimizer.momentum=0.9");
    const std::string out = "out-" + std::to_string(rounds);
    const auto told = line_.shell("\"$TANDEM\" run " + words + " --out " + out + " & job=$!; while [ ! -e " +
                                  out + "/INCOMPLETE ]; do sleep 0.01; done; mkdir -p " + out +
                                  "/model.pt/in-the-way; wait $job");
    EXPECT_EQ(told.exit_code, 70) << told.output;
    expect_in("cannot write " + out + "/model.pt", told.output);
    const std::string line = "to resume it: tandem ";
    const auto begin = told.output.find(line);
    ASSERT_NE(begin, std::string::npos) << told.output;
    const std::string command = told.output.substr(begin + line.size());
    succeeds(command.substr(0, command.find('\n')) + " --force --out resumed");
    succeeds("simulate " + words + " --force --out whole");
    expect_same_end("whole", "resumed", rounds == 41 ? 40 : 38);
  }
}

TEST_F(LongResumeJobs, APartOfAJobIsNotComparedWithTheWholeJob) {
  succeeds("simulate " + experiment(4) + " --out whole");
  succeeds("simulate " + experiment(2) + " --out first");
  succeeds("run --resume first --set stop.rounds=4 --out second");
  refuses("compare whole second --out report", "expected both to start at the same round");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
