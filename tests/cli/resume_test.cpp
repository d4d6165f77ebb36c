// `tandem simulate --resume`: what is restored, which checkpoint is taken, and what is rejected. That resumed
// jobs end as uninterrupted ones: interruptions_test.cpp.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongResumeJobs = ResumeJobs;

/// Resumed servers restore the state of their policy: here the number of steps of the current round.
TEST_F(ResumeJobs, AnAdaptivePolicyIsRestored) {
  const std::string words = experiment(
      4, "--set sync.algorithm=adacomm --set sync.options.tau=8 --set sync.options.period_s=0.001");
  succeeds("simulate " + words + " --out first");
  succeeds("simulate --resume first --set stop.rounds=6 --decisions --out second");
  const auto steps_of_round = [this](const std::string& directory, int round) {
    const Results all = results(directory);
    return std::ranges::count_if(all.journal.steps,
                                 [&](const auto& step) { return step.rank == 0 && step.round == round; });
  };
  EXPECT_EQ(steps_of_round("first", 0), 8);
  EXPECT_LT(steps_of_round("second", 4), 8);
  EXPECT_LE(steps_of_round("second", 4), steps_of_round("first", 3));
  const Results second = results("second");
  const auto count = [&](const std::string& side, const std::string& event) {
    return std::ranges::count_if(second.journal.decisions, [&](const auto& record) {
      return record.side == side && record.event.starts_with(event);
    });
  };
  EXPECT_EQ(count("server", "push"), 4 * 2);
  EXPECT_EQ(count("server", "restore"), 1) << "replaying the run needs its initial state";
  EXPECT_EQ(contents("second/checkpoints/server_0.events").find("restore "), 0U);
}

/// If a new policy and the workers counted versions from different origins, no push would ever be late.
TEST_F(ResumeJobs, LatePushesAreStillDropped) {
  const std::string backups = "--set sync.algorithm=k-sync --set sync.options.k=2";
  succeeds("simulate " + experiment(12, backups) + " --out first");
  succeeds("simulate --resume first --resume-from 6 --set stop.rounds=20 --out second");
  EXPECT_GT(results("first").summary.dropped_samples, 0);
  EXPECT_GT(results("second").summary.dropped_samples, 0);
}

/// Workers that had left before the checkpoint take part again.
TEST_F(LongResumeJobs, WorkersThatHadLeftRejoin) {
  const std::string words = line_.experiment("evaluate_every: 1\n") +
                            " --set sync.algorithm=ssp --set sync.options.staleness=100"
                            " --set stop.rounds=0 --set stop.epochs=";
  for (const char* epochs : {"0.9", "0.95", "1.01"}) {
    const std::string folder = std::string("first-") + epochs;
    succeeds("simulate " + words + epochs + " --out " + folder);
    succeeds("simulate --resume " + folder + " --set stop.epochs=2 --out " + folder + "-on");
  }
}

/// Every worker continues its random draws at the step from which it resumes. With a third of the steps slow,
/// equal durations of so many steps cannot be a coincidence.
TEST_F(LongResumeJobs, StepsAreAsSlowAsInTheUninterruptedJob) {
  for (const std::string overlap : {"backward", "both"}) {
    const std::string slow =
        "--set run.slowdown_probability=0.3 --set run.slowdown_factor=20 --set sync.overlap=" + overlap;
    succeeds("simulate " + experiment(30, slow) + " --out whole-" + overlap);
    succeeds("simulate " + experiment(12, slow) + " --out first-" + overlap);
    succeeds("simulate --resume first-" + overlap + " --set stop.rounds=30 --out second-" + overlap);
    expect_same_end("whole-" + overlap, "second-" + overlap, 12);
    std::map<std::pair<Rank, int>, StepRecord> whole;
    for (const auto& step : results("whole-" + overlap).journal.steps) whole[{step.rank, step.step}] = step;
    for (const auto& step : results("second-" + overlap).journal.steps) {
      const StepRecord& same = whole.at({step.rank, step.step});
      const std::string which =
          overlap + ", rank " + std::to_string(step.rank) + " step " + std::to_string(step.step);
      EXPECT_NEAR(step.duration().count(), same.duration().count(), 1e-6 * same.duration().count()) << which;
      for (const Phase phase : {Phase::load, Phase::forward, Phase::backward}) {
        const double expected = same.phases[static_cast<std::size_t>(phase)].count();
        EXPECT_NEAR(step.phases[static_cast<std::size_t>(phase)].count(), expected, 1e-6 * expected) << which;
      }
    }
  }
}

TEST_F(ResumeJobs, ASymbolicLinkToTheJobIsRecognised) {
  succeeds("simulate " + experiment(2) + " --out first");
  std::filesystem::create_directory_symlink("first", line_.folder() / "link");
  refuses("simulate --resume link --set stop.rounds=4 --out first --force", "");
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "first/model.pt"));
}

// ---- Interruptions ----

/// Each worker's state holds its own part of the common model: with one state missing, the workers' models
/// would diverge.
TEST_F(ResumeJobs, UpdatesAtWorkersNeedTheStatesOfAllWorkers) {
  const std::string words = "--set sync.algorithm=lb-bsp --set optimizer.update_at=workers";
  succeeds("simulate " + experiment(4, words) + " --out first");
  std::filesystem::remove(line_.folder() / "first/checkpoints/round_00000004.worker_2.state");
  succeeds("simulate --resume first --set stop.rounds=6 --out second");
  EXPECT_EQ(results("second").info.resumed.value().round, 2);
}

/// With commits of their own or those of evaluations: older files are removed meanwhile, or stay.
TEST_F(LongResumeJobs, AKilledSimulationResumesFromItsLatestCompleteCheckpoint) {
  for (const std::string settings :
       {"--set optimizer.momentum=0.9 --force",
        "--set optimizer.momentum=0.9 --force --set checkpoint.policy=fixed --set "
        "checkpoint.options.interval=2 --set evaluate_every=0"}) {
    SCOPED_TRACE(settings);
    const auto killed = line_.shell(
        "rm -rf killed; \"$TANDEM\" simulate " + experiment(1000000, settings) +
        " --out killed & job=$!; until ls killed/checkpoints 2> /dev/null | grep -q '[1-9][0-9][.]pt$'; do "
        "kill -0 $job || exit 9; sleep 0.02; done; kill -KILL $job; wait $job; [ -e killed/INCOMPLETE ]");
    ASSERT_EQ(killed.exit_code, 0) << killed.output;
    const int newest = newest_commit("killed");
    const std::string end = std::to_string(newest + 3);
    succeeds("simulate " + experiment(newest + 3, settings) + " --out whole");
    succeeds("simulate --resume killed --force --out resumed --set stop.rounds=" + end);
    const auto round = static_cast<int>(results("resumed").info.resumed.value().round);
    EXPECT_GE(round, newest - 2);
    expect_same_end("whole", "resumed", round);
  }
}

TEST_F(ResumeJobs, IncompleteCheckpointsAreSkipped) {
  succeeds("simulate " + experiment(6) + " --out whole");
  succeeds("simulate " + experiment(4) + " --out first");
  const auto state = line_.folder() / "first/checkpoints/round_00000004.worker_2.state";
  std::filesystem::resize_file(state, std::filesystem::file_size(state) - 1);
  const std::string told = succeeds("simulate --resume first --out second --set stop.rounds=6");
  expect_in("the checkpoint of round 4 cannot be used: state '", told);
  expect_in("resuming from round 2 of ", told);
  expect_same_end("whole", "second", 2);
  refuses("simulate --resume first --resume-from 4 --out third --set stop.rounds=6",
          "round_00000004.worker_2.state': incomplete: expected ");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "third"));
}

TEST_F(ResumeJobs, ATruncatedModelIsNamedAndAnEarlierOneIsTaken) {
  succeeds("simulate " + experiment(4) + " --out first");
  const auto model = line_.folder() / "first/checkpoints/round_00000004.pt";
  std::filesystem::resize_file(model, std::filesystem::file_size(model) / 2);
  const std::string told = succeeds("simulate --resume first --out second --set stop.rounds=6");
  expect_in("the checkpoint of round 4 cannot be used: checkpoint '", told);
  expect_in("round_00000004.pt' is corrupt", told);
  expect_in("resuming from round 2 of ", told);
}

/// Of a job that commits apart from evaluations, too.
TEST_F(LongResumeJobs, WithoutItsModelOrOneStateACommitIsNone) {
  succeeds("simulate " + experiment(7, every_third_round) + " --out first");
  const auto remove = [&](const std::string& name) {
    ASSERT_TRUE(std::filesystem::remove(line_.folder() / "first/checkpoints" / name));
  };
  remove("round_00000006.worker_1.state");
  succeeds("simulate --resume first --out second --set stop.rounds=9");
  EXPECT_EQ(results("second").info.resumed.value().round, 3);
  remove("round_00000003.pt");
  refuses("simulate --resume first --out third --set stop.rounds=9",
          "expected a complete checkpoint in it, found none");
}

TEST_F(ResumeJobs, TheExperimentMayBeRepeated) {
  succeeds("simulate " + experiment(4) + " --out first");
  succeeds("simulate " + experiment(6) + " --resume first --out second");
  EXPECT_EQ(results("second").journal.evaluations.back().round, 6);
}

TEST_F(ResumeJobs, AnOptionUnknownToAnOlderVersionHasItsDefault) {
  const std::string esync = "--set sync.algorithm=esync";
  succeeds("simulate " + experiment(2, esync) + " --out first");
  const auto older =
      line_.shell("sed -i '/\"epsilon_share\"/d' first/job.json && grep -c epsilon_s first/job.json");
  ASSERT_EQ(older.output, "1\n") << "the line of epsilon_s itself remains";
  succeeds("simulate --resume first --set stop.rounds=4 --out second");
  EXPECT_EQ(results("second").journal.evaluations.back().round, 4);
}

// ---- Rejected requests ----

class ResumeRefuses : public ResumeJobs {
 protected:
  void refuses(const std::string& words, const std::string& why) const {
    ResumeJobs::refuses("simulate " + words, why);
  }
};
using LongResumeRefuses = ResumeRefuses;

TEST_F(ResumeRefuses, AnotherJob) {
  succeeds("simulate " + experiment(2) + " --out first");
  const std::string more = " --resume first --out second --set stop.rounds=4";
  refuses("--set optimizer.learning_rate=0.5" + more,
          "expected the same job (only stop and placement may change), found optimizer.learning_rate 0.5 "
          "instead of 0.01");
  refuses("--set sync.algorithm=asp" + more, "found sync.algorithm \"asp\" instead of \"bsp\"");
  refuses(experiment(4, "--set workload.model=lenet") + " --resume first --out second",
          "workload.model \"lenet\" instead of \"mlp\"");
  refuses("--set sync.algorthm=asp" + more, "unknown key 'sync.algorthm'");
  refuses("--variant x" + more, "--variant: expected an experiment file");
  refuses(experiment(4) + " --resume nowhere", "expected the result directory of an earlier job, found none");
  refuses(experiment(4) + " --resume first/job.json/x",
          "expected the result directory of an earlier job, found");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "second"));
}

TEST_F(LongResumeRefuses, AJobWithoutCheckpoints) {
  succeeds("simulate " + experiment(2, "--set workload.math=modelled") + " --out modelled");
  refuses("--resume modelled --set stop.rounds=4", "found workload.math modelled");
  succeeds("simulate " + experiment(2, "--set evaluate_every=0") + " --out unwatched");
  refuses("--resume unwatched --set stop.rounds=4", "found evaluate_every 0");
  succeeds("simulate " + experiment(2) + " --out first");
  refuses("--resume first", "already finished at round 2 with 64 samples");
  refuses("--resume first --resume-from 4 --set stop.rounds=6",
          "round_00000004.server_0.state': cannot be opened");
  refuses("--resume nowhere", "expected the result directory of an earlier job, found none; give the folder");
  refuses("--resume .", "expected job.json in it, found none");
  refuses("--out out", "expected an experiment file, or --resume DIR, found neither");
  refuses(experiment(2) + " --resume-from 2", "--resume");
}

TEST_F(LongResumeRefuses, InvalidCheckpoints) {
  succeeds("simulate " + experiment(2) + " --out first");
  succeeds("simulate " + experiment(2, "--set workload.model=lenet") + " --out other");
  const auto checkpoint = [this](const std::string& directory) {
    return line_.folder() / directory / "checkpoints/round_00000002.pt";
  };
  std::filesystem::copy_file(checkpoint("other"), checkpoint("first"),
                             std::filesystem::copy_options::overwrite_existing);
  refuses("--resume first --set stop.rounds=4",
          "expected a complete checkpoint in it, found none; the checkpoint of round 2 cannot be used: "
          "checkpoint of model "
          "'lenet'");
  std::filesystem::remove(checkpoint("first"));
  refuses("--resume first --set stop.rounds=4", "expected a complete checkpoint in it, found none");
}

/// If the policy of one server cannot be restored, no role starts.
TEST_F(LongResumeRefuses, PoliciesThatCannotBeRestored) {
  succeeds("simulate " + experiment(4, "--set placement.servers=[server,node-4]") + " --out first");
  const std::string name = "first/checkpoints/round_00000004.server_1.state";
  const std::string whole = contents(name);
  const auto replace = [&](const std::string& old, const std::string& text) {
    ASSERT_NE(whole.find(old), std::string::npos) << old;
    std::ofstream(line_.folder() / name, std::ios::binary)
        << std::string(whole).replace(whole.find(old), old.size(), text);
  };
  const std::string at_four = "--resume first --set stop.rounds=6 --resume-from 4 --out second";
  replace("active=1111", "active=11x1");
  refuses(at_four, "server_1.state': policy state: malformed value of 'active': '11x1'");
  replace("\"active=", "\"action=");
  refuses(at_four, "server_1.state': policy state: expected a value 'active', found none");
  replace("\"policy\"", "\"police\"");
  refuses(at_four, "server_1.state': expected a text 'policy', found none");
  std::filesystem::remove(line_.folder() / "first/checkpoints/round_00000002.server_1.state");
  refuses(
      "--resume first --set stop.rounds=6 --out second",
      "expected a complete checkpoint in it, found none; the checkpoint of round 4 cannot be used: state '");
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "second"));
}

/// As with a truncated state file. Logs of events are for audit only.
TEST_F(LongResumeJobs, APolicyThatCannotBeRestoredFallsBackToAnOlderCheckpoint) {
  succeeds("simulate " + experiment(6) + " --out whole");
  succeeds("simulate " + experiment(4) + " --out first");
  ASSERT_TRUE(std::filesystem::remove(line_.folder() / "first/checkpoints/server_0.events"));
  succeeds("simulate --resume first --out second --set stop.rounds=6");
  expect_same_end("whole", "second", 4);
  const std::string name = "first/checkpoints/round_00000004.server_0.state";
  std::string state = contents(name);
  state.replace(state.find("active=1111"), 11, "active=11x1");
  std::ofstream(line_.folder() / name, std::ios::binary) << state;
  succeeds("simulate --resume first --out third --set stop.rounds=6");
  expect_same_end("whole", "third", 2);
}

TEST_F(ResumeRefuses, OverwritingItsInput) {
  succeeds("simulate " + experiment(2) + " --out first");
  for (const char* out : {"first", "./first/", "."})
    refuses(std::string("--resume first --set stop.rounds=4 --force --out ") + out,
            "found one that contains it");
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "first/checkpoints/round_00000002.pt"));
}

TEST_F(LongResumeRefuses, AChangedSchedule) {
  succeeds("simulate " + experiment(4, "--set optimizer.schedule=cosine") + " --out first");
  refuses("--resume first --set stop.rounds=8", "optimizer.cosine_rounds is 0");
  succeeds("simulate --resume first --resume-from 2 --out second");
  expect_same_end("first", "second", 2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
