// `tandem run` with run.revoke kill: ranks of a real mpirun are killed when the machines under them depart,
// as in the simulation.
#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class RevokedJobs : public RestartJobs {
 protected:
  /// Two machines depart while the job runs.
  static constexpr int rounds = 100;
  static constexpr double first_s = 1.0, second_s = 2.2;
  static std::string revoked(const std::string& words) {
    return words +
           " --set recovery.policy=restart --set run.revoke=kill --set transience.detect=1 --set "
           "transience.start=2 --set transience.time_scale=10 " +
           lifetimes(fmt::format("{},1e9;1e9;{},1e9", 10 * first_s, 10 * second_s));
  }
  /// Of the results "simulated" and "out", which end like "whole".
  void expect_one_start_from_the_beginning() const {
    for (const char* out : {"simulated", "out"}) {
      expect_same_records("whole", out, 0);
      const auto generations = results(out).info.generations;
      ASSERT_EQ(generations.size(), 2U) << out;
      EXPECT_EQ(generations[1].round, 0) << out;
    }
    expect_each_step_once("out");
  }
};
using LongRevokedJobs = RevokedJobs;

TEST_F(LongRevokedJobs, EndLikeTheUninterruptedJobAndAsInTheSimulation) {
  const std::string words = lasting_job(rounds, "--decisions"), all = revoked(words);
  succeeds("simulate " + words + " --out whole");
  succeeds("simulate " + all + " --out simulated");
  const std::string told = succeeds("run " + all + " --out out");
  expect_in("the machine of worker 0 on 'node-1' departed (revoked); the job starts again from round ", told);
  expect_in("as generation 2", told);
  expect_same_records("whole", "simulated", 0);
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  const Results simulated = results("simulated"), measured = results("out");
  EXPECT_EQ(ends_of_generations(measured).size(), 3U);
  expect_same_changes(simulated, measured);
  // The replacement of a machine takes 0.3 s of the job, and the launch some more.
  EXPECT_GE(measured.info.generations[2].began.value().count(), second_s + 0.3 - 1e-3);
  EXPECT_NEAR(simulated.info.generations[1].began.value().count(), first_s + 0.3, 1e-6);
  expect_replayed(simulated, measured);
}

/// The warning comes at the drawn time, as in the simulation, and the policy commits before the departure: as
/// late as the notice of 2 s allows, since it believes that a commit takes 1 s. Without a belief it commits
/// at once: JobSignals, AWarnedRankMayDie.
TEST_F(LongRevokedJobs, CommitWhenTheirMachinesAreWarned) {
  const std::string words = lasting_job(
                        130,
                        "--set checkpoint.policy=on-warning --set checkpoint.at_end=false --decisions "
                        "--set checkpoint.options.cost_s=1"),
                    all = revoked(words) +
                          " --set 'transience.options.times=30,1e9;1e9' --set transience.notice=20";
  succeeds("simulate " + words + " --out whole");
  succeeds("simulate " + all + " --out simulated");
  succeeds("run " + all + " --out out");
  expect_same_records("whole", "out", 0);
  const Results simulated = results("simulated"), measured = results("out");
  EXPECT_EQ(timed_fates(measured.journal), timed_fates(simulated.journal));
  for (const Results* one : {&simulated, &measured}) {
    ASSERT_EQ(one->info.generations.size(), 2U) << one->info.world;
    const auto& commits = one->journal.commits;
    ASSERT_GE(commits.size(), 1U) << one->info.world;
    EXPECT_GE(one->info.generations[1].round, commits[0].round) << one->info.world;
    // The clocks of real ranks start some milliseconds apart: each when it has left a barrier.
    EXPECT_GE(commits[0].started, Seconds(3.0 - 2.0 - 0.02)) << one->info.world;
    EXPECT_EQ(commits.size(), 1U) << one->info.world;
    EXPECT_GE(commits[0].started, Seconds(3.0 - 1.7)) << one->info.world << ": too early";
  }
  expect_replayed(simulated, measured);
}

TEST_F(LongRevokedJobs, WithoutKillNoRankIsKilled) {
  succeeds("run " + revoked(lasting_job(60)) + " --set run.revoke=none --out out");
  EXPECT_EQ(restarts("out"), 0U);
}

/// Without commits, a job that recovers in place does not survive its steward. It names it, says what would
/// help, leaves nothing behind and is resumed.
TEST_F(LongRevokedJobs, InPlaceTheDeathOfTheStewardEndsTheJob) {
  const auto told = killed(job(100000,
                               "--set recovery.mode=in-place --set transience.lifetime=exponential --set "
                               "transience.options.mean=100 --set transience.start=20 --set "
                               "transience.time_scale=100"),
                           {{has_checkpoint(20), "6"}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  expect_in("was ended by signal 9", told.output);
  expect_in("rank 6 is the steward on 'server'", told.output);
  expect_in("out is marked incomplete", told.output);
  expect_in("with checkpoint.policy (for example", told.output);
  succeeds("run --resume out --resume-from 10 --set stop.rounds=30 --out resumed");
  const Results resumed = results("resumed");
  EXPECT_EQ(resumed.info.resumed.value().round, 10);
  EXPECT_FALSE(resumed.journal.steps.empty());
  for (const auto& step : resumed.journal.steps) EXPECT_GE(step.round, 10);
}

/// Over a server whose worker's states are not needed, the commits on its disk remain. Parts that are lost:
/// of a pair, below, and with disks: InterruptedJobs.
TEST_F(LongRevokedJobs, KeepPartsThatOtherMachinesHave) {
  const std::string all =
      revoked(lasting_job(3 * rounds,
                          "--set sync.algorithm=asp --set checkpoint.policy=fixed --set "
                          "checkpoint.options.interval=2 --set checkpoint.to=local --decisions"));
  succeeds("simulate " + all + " --out simulated");
  succeeds("run " + all + " --out out");
  expect_each_step_once("out");
  const Results simulated = results("simulated"), measured = results("out");
  EXPECT_EQ(ends_of_generations(measured), ends_of_generations(simulated));
  // How far the measured job is when a machine departs depends on how busy this one is.
  ASSERT_EQ(simulated.info.generations.size(), 3U);
  EXPECT_GT(simulated.info.generations[2].round, 0);
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out/local/server/checkpoints"));
  expect_replayed(simulated, measured);
}

/// The machines of node-1 and of node-3 are lost one after the other: the memory of the next host has the
/// part of each. The content of the memories is in the result directory when the job has ended.
TEST_F(LongRevokedJobs, ContinueFromCopiesInMemory) {
  const std::string words = lasting_job(
                        rounds,
                        "--decisions --set sync.over=all-reduce --set checkpoint.policy=fixed --set "
                        "checkpoint.options.interval=2 --set checkpoint.to=buddy"),
                    all = revoked(words);
  succeeds("simulate " + words + " --out whole");
  succeeds("simulate " + all + " --out simulated");
  succeeds("run " + all + " --out out");
  EXPECT_FALSE(std::filesystem::is_symlink(line_.folder() / "out/memory"));
  for (const char* out : {"simulated", "out"}) {
    expect_same_records("whole", out, 0);
    const auto generations = results(out).info.generations;
    ASSERT_EQ(generations.size(), 3U) << out;
    EXPECT_GT(generations[2].round, 0) << out;
  }
  expect_each_step_once("out");
  expect_replayed(results("simulated"), results("out"));
  // Both copies of a part are the same.
  const auto own = line_.shell("cd out/memory/node-1/checkpoints && cksum *.worker_0.state *.pt").output;
  EXPECT_FALSE(own.empty());
  EXPECT_EQ(line_.shell("cd out/memory/node-2/checkpoints && cksum *.worker_0.state *.pt").output, own);
  succeeds("simulate --resume out --out longer --set stop.rounds=" + std::to_string(rounds + 20));
}

/// A host and its buddy: both copies of a part are lost, and the job starts from its beginning.
TEST_F(LongRevokedJobs, LoseCommitsWithBothMachinesOfAPair) {
  const std::string words = lasting_job(rounds,
                                        "--set sync.over=all-reduce --set checkpoint.policy=fixed --set "
                                        "checkpoint.options.interval=2 --set checkpoint.to=buddy"),
                    all = revoked(words) + " --set 'transience.options.times=15,1e9;16,1e9;1e9'";
  succeeds("simulate " + words + " --out whole");
  succeeds("simulate " + all + " --out simulated");
  const std::string told = succeeds("run " + all + " --out out");
  expect_in("another machine was lost meanwhile: generation 1 starts from its beginning", told);
  expect_one_start_from_the_beginning();
}

/// Elsewhere, the processes that watch the machines kill ranks.
TEST_F(RevokedJobs, OnMachinesThatNobodyWatchesAreRefused) {
  for (const char* where : {"--hosts localhost:9", "--print-sbatch"}) {
    const auto told =
        line_.tandem("run " + revoked(job(60)) + " --lost-after 0 --out out " + std::string(where));
    EXPECT_EQ(told.exit_code, 2) << told.output;
    expect_in("run.revoke: expected none with --lost-after 0", told.output);
  }
}

/// A rank dies by itself half a second before a machine departs as drawn: one launch is after both.
TEST_F(LongRevokedJobs, WaitForMachinesThatDepartWhileTheJobStartsAgain) {
  const auto told =
      killed(lasting_job(rounds) +
                 " --set recovery.policy=restart --set run.revoke=kill --set transience.start=2 "
                 "--set transience.time_scale=10 " +
                 lifetimes("15,1e9;1e9"),
             {{has_begun(0), "1", 1.0}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const Results out = results("out");
  ASSERT_EQ(out.info.generations.size(), 2U) << told.output;
  EXPECT_GE(out.info.generations[1].began.value().count(), 1.5 + 0.2 - 1e-3);
  EXPECT_EQ(count_of_changes(out.journal, "departed"), 1);
  expect_each_step_once("out");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
