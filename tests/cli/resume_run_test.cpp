// `tandem run --resume`: ranks of a real mpirun end with the model of the simulator, with and without an
// interruption.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/resume_jobs.hpp"
#include "validation/compare/compare.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongResumeJobs = ResumeJobs;

class ResumeRun : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeRun, EndsLikeTheUninterruptedJob) {
  succeeds("simulate " + experiment(8, GetParam()) + " --out whole");
  succeeds("run " + experiment(4, GetParam()) + " --out first");
  succeeds("run --resume first --set stop.rounds=8 --decisions --operations --out second");
  expect_same_end("whole", "second", 4);
  succeeds("simulate --resume first --set stop.rounds=8 --decisions --operations --out third");
  expect_same_end("whole", "third", 4);
  const auto comparison = validation::compare(results("third"), {results("second")});
  using State = validation::Gate::State;
  EXPECT_EQ(comparison.operations.state, State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, State::passed) << comparison.decisions.detail;
  EXPECT_EQ(comparison.replay.state, State::passed) << comparison.replay.detail;
}

INSTANTIATE_TEST_SUITE_P(
    LongAll, ResumeRun,
    ::testing::Values("--set optimizer.momentum=0.9",
                      "--set optimizer.update_at=workers --set optimizer.kind=adam --set "
                      "placement.servers=[server,node-4]",
                      "--set sync.algorithm=local-sgd --set sync.over=all-reduce --set optimizer.kind=adam",
                      "--set sync.algorithm=d-psgd --set sync.over=peers --set optimizer.momentum=0.9",
                      "--set sync.algorithm=d-psgd --set sync.over=peers --set sync.options.global_every=3"
                      " --set sync.options.order=step-first",
                      "--set sync.algorithm=group-average --set sync.over=all-reduce"));

class ResumeRunWithOthers : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

/// With another number of workers and another server's host, both worlds continue alike, in each from the
/// states of the other.
TEST_P(ResumeRunWithOthers, EndsLikeTheSimulation) {
  succeeds("run " + experiment(3, "--set evaluate_every=1 " + GetParam()) + " --out first");
  const std::string on =
      " --resume first --set placement.worker_count=3 --set placement.servers=[node-5] --set stop.rounds=6 "
      "--decisions --out ";
  const std::string told = succeeds("run" + on + "measured");
  EXPECT_NE(told.find("note: 3 workers instead of 4"), std::string::npos) << told;
  succeeds("simulate" + on + "simulated");
  expect_same_end("simulated", "measured", 3);
  const auto comparison = validation::compare(results("simulated"), {results("measured")});
  EXPECT_EQ(comparison.decisions.state, validation::Gate::State::passed) << comparison.decisions.detail;
  EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
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
  const auto told = succeeds("simulate " + experiment(60, settings) + " --set stop.accuracy=0.6 --out whole");
  EXPECT_NE(told.find("stopped by stop.accuracy 0.6: evaluation "), std::string::npos) << told;
  succeeds("run " + experiment(4, settings) + " --out first");
  succeeds("run --resume first" + stop + "--out second");
  expect_same_end("whole", "second", 4);
  const auto round = [&](const char* out) { return results(out).summary.at("accuracy_stop").at("round"); };
  EXPECT_GT(round("whole"), 4);
  EXPECT_EQ(round("whole"), round("second"));
}

TEST_F(ResumeJobs, AnAccuracyThatIsNotReachedLeavesTheOtherLimit) {
  const auto told = succeeds("simulate " + experiment(4) + " --set stop.accuracy=1 --out out");
  EXPECT_NE(told.find("stop.accuracy 1 was not reached; another limit of stop ended the job"),
            std::string::npos)
      << told;
  EXPECT_TRUE(results("out").summary.at("accuracy_stop").is_null());
  EXPECT_EQ(results("out").summary.at("rounds"), 4.0);
}

/// A resumed worker receives again the number of local steps that it had before the interruption.
TEST_F(LongResumeJobs, ATimingDrivenJobReplays) {
  for (const std::string algorithm : {"adacomm --set sync.options.tau=4", "esync", "ssp"}) {
    const std::string name = algorithm.substr(0, algorithm.find(' '));
    succeeds("run " + experiment(4, "--set sync.algorithm=" + algorithm) + " --out first-" + name);
    const std::string on = " --resume first-" + name + " --set stop.rounds=8 --decisions --operations --out ";
    succeeds("run" + on + name + "-run");
    succeeds("simulate" + on + name + "-simulated");
    const auto replay = validation::compare(results(name + "-simulated"), {results(name + "-run")}).replay;
    EXPECT_EQ(replay.state, validation::Gate::State::passed) << name << ": " << replay.detail;
    EXPECT_GT(replay.checked, 0);
  }
}

TEST_F(LongResumeJobs, AKilledRunResumesFromItsLatestCompleteCheckpoint) {
  // The ranks end with mpirun, and mpirun ends with the command.
  const auto killed = line_.shell(
      "\"$TANDEM\" run " + experiment(100000, "--set optimizer.momentum=0.9") +
      " --out killed & job=$!; "
      "while [ ! -e killed/checkpoints/round_00000004.pt ]; do kill -0 $job || exit 9; sleep 0.02; done; "
      "kill -KILL $job; wait $job; "
      "before=; while now=$(ls killed/checkpoints); [ \"$now\" != \"$before\" ]; do before=$now; sleep 2; "
      "done; "
      "[ -e killed/INCOMPLETE ]");
  ASSERT_EQ(killed.exit_code, 0) << killed.output;
  // How many rounds the run completed depends on the machine.
  const auto newest =
      line_.shell("ls killed/checkpoints | sed -n 's/^round_0*\\([0-9]*\\)\\.pt$/\\1/p' | tail -n 1");
  const int end = std::stoi(newest.output) + 4;
  succeeds("run --resume killed --set stop.rounds=" + std::to_string(end) + " --out resumed");
  const int round = results("resumed").info.resumed.at("round").get<int>();
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
    EXPECT_NE(told.output.find("cannot write " + out + "/model.pt"), std::string::npos) << told.output;
    const std::string line = "to resume it: tandem ";
    const auto begin = told.output.find(line);
    ASSERT_NE(begin, std::string::npos) << told.output;
    const std::string command = told.output.substr(begin + line.size());
    succeeds(command.substr(0, command.find('\n')) + " --force --out resumed");
    succeeds("simulate " + words + " --force --out whole");
    expect_same_end("whole", "resumed", rounds == 41 ? 40 : 38);
  }
}

TEST_F(LongResumeJobs, ATimingDrivenJobResumes) {
  succeeds("run " + experiment(4, "--set sync.algorithm=asp") + " --out first");
  const std::string told = succeeds("run --resume first --set stop.rounds=8 --out second");
  EXPECT_NE(told.find("may differ from an uninterrupted job"), std::string::npos) << told;
  EXPECT_EQ(results("second").journal.evaluations.back().round, 8);
}

TEST_F(LongResumeJobs, APartOfAJobIsNotComparedWithTheWholeJob) {
  succeeds("simulate " + experiment(4) + " --out whole");
  succeeds("run " + experiment(2) + " --out first");
  succeeds("run --resume first --set stop.rounds=4 --out second");
  const auto refused = line_.tandem("compare whole second --out report");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("expected both to start at the same round"), std::string::npos)
      << refused.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
