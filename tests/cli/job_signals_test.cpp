// Signals to `tandem run` and to its ranks while jobs commit their states, and commits that cannot be
// written.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// A commit so rare that none is made but those asked for.
const std::string rare =
    "--set evaluate_every=0 --set recovery.mode=in-place --set checkpoint.policy=fixed "
    "--set checkpoint.options.interval=1000000 ";

class JobSignals : public RestartJobs {
 protected:
  static constexpr const char* any_commit = "ls out/checkpoints 2> /dev/null | grep -q '[.]pt$'";
  /// `tandem run WORDS --out out`, with shell commands while it runs, in which $run is the command.
  CommandResult while_running(const std::string& words, const std::string& commands) const {
    return killed(words, {}, commands);
  }
  /// Shell commands that wait until the ranks are ready; a signal that comes before the first round waits for
  /// it.
  static std::string until_it_begins() {
    return "until " + has_started("out") + "; do kill -0 $run || break; sleep 0.05; done; ";
  }
  /// The time that was left when the policy got the first warning, about which it decided at the end of
  /// that round.
  static double notice_of_policy(const Results& out) {
    const auto& rows = out.journal.decisions;
    const auto warned = std::ranges::find_if(rows, [](const auto& row) {
      return row.side == "checkpointing" && row.event.starts_with("warned slot=");
    });
    if (warned == rows.end()) return 0.0;
    const auto next = std::find_if(warned + 1, rows.end(), [&](const auto& row) {
      return row.rank == warned->rank && row.side == "checkpointing";
    });
    EXPECT_TRUE(next != rows.end() && next->event.starts_with("round_done") &&
                next->decisions == "commit_now");
    return std::stod(warned->event.substr(warned->event.find("notice=") + 7));
  }
  std::int64_t newest_commit() const {
    return std::stoll(
        line_.shell("ls out/checkpoints | sed -n 's/^round_0*\\([0-9]*\\)[.]pt$/\\1/p' | sort -n | tail -1")
            .output);
  }
};

using LongJobSignals = JobSignals;

// ---- SIGTERM to the command ----

class EndsInOrder : public JobSignals, public ::testing::WithParamInterface<std::string> {};

TEST_P(EndsInOrder, AndTheLineThatItPrintsResumesIt) {
  const bool is_by_rounds =
      GetParam().find("algorithm") == std::string::npos || GetParam().find("d-psgd") != std::string::npos;
  const std::string settings = rare + GetParam();
  const auto told = while_running(job(1000000, settings), until_it_begins() + "kill -TERM $run; ");
  EXPECT_EQ(told.exit_code, 143) << told.output;
  ASSERT_TRUE(std::filesystem::exists(line_.folder() / "out/summary.json")) << told.output;
  const std::int64_t round = newest_commit();
  EXPECT_GE(round, 1) << told.output;
  EXPECT_NE(told.output.find(fmt::format("ended by signal 15 after its commit of round {}", round)),
            std::string::npos)
      << told.output;
  EXPECT_NE(told.output.find("to resume it: tandem run --resume out"), std::string::npos) << told.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out/INCOMPLETE"));
  const std::string end = std::to_string(round + 5);
  succeeds("run --resume out --out resumed --set stop.rounds=" + end);
  EXPECT_EQ(results("resumed").info.resumed.value().round, round);
  if (!is_by_rounds) return;
  succeeds("simulate " + job(static_cast<int>(round) + 5, settings) + " --out whole");
  expect_same_end("whole", "resumed", static_cast<int>(round));
}

INSTANTIATE_TEST_SUITE_P(Asp, EndsInOrder, ::testing::Values("--set sync.algorithm=asp"));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, EndsInOrder,
    ::testing::Values("--set checkpoint.mode=background --set optimizer.momentum=0.9",
                      "--set checkpoint.options.unit=seconds --set placement.servers="
                      "[server,node-4] --set optimizer.momentum=0.9",
                      "--set sync.over=all-reduce --set checkpoint.options.unit=seconds",
                      "--set checkpoint.options.unit=seconds --set sync.over=peers --set "
                      "sync.algorithm=d-psgd"));

/// Where each worker counts rounds, nobody can announce a commit; the last one counts.
TEST_F(LongJobSignals, WithoutAPossibleCommitTheJobEndsAtOnce) {
  const auto told = while_running(
      job(1000000,
          "--set evaluate_every=0 --set recovery.mode=in-place --set checkpoint.policy=fixed "
          "--set checkpoint.options.interval=50 --set sync.over=all-reduce"),
      std::string("until ") + any_commit + "; do kill -0 $run || break; sleep 0.05; done; kill -TERM $run; ");
  EXPECT_EQ(told.exit_code, 143) << told.output;
  EXPECT_EQ(told.output.find("after its commit"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("to resume it: tandem run --resume out"), std::string::npos) << told.output;
}

TEST_F(LongJobSignals, NoGraceMeansNoCommit) {
  const auto told = while_running(job(1000000, rare) + " --grace 0", until_it_begins() + "kill -TERM $run; ");
  EXPECT_EQ(told.exit_code, 143) << told.output;
  EXPECT_FALSE(std::filesystem::exists(line_.folder() / "out/summary.json"));
  EXPECT_EQ(told.output.find("to resume it"), std::string::npos) << told.output;
}

// ---- SIGUSR1 to a rank ----

/// The commit follows the warning; when the rank dies then, nothing before it is lost.
TEST_F(LongJobSignals, AWarnedRankMayDie) {
  const std::string words = lasting_job(
      100,
      "--set evaluate_every=0 --set checkpoint.policy=on-warning --set checkpoint.at_end=false --set "
      "transience.notice=600s --decisions");
  succeeds("simulate " + words + " --out whole");
  EXPECT_TRUE(results("whole").journal.commits.empty());
  const auto told = killed(words, {{has_begun(0), "1", 0.4, "-USR1"}, {any_commit, "1", 0.0, "-KILL"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const Results out = results("out");
  ASSERT_EQ(out.journal.membership.size(), 1U);
  EXPECT_EQ(out.journal.membership.front().event, "warned");
  EXPECT_EQ(out.journal.membership.front().slot, 1);
  EXPECT_NE(told.output.find("rank 1 (worker on 'node-2') was warned"), std::string::npos) << told.output;
  EXPECT_EQ(restarts("out"), 1U) << told.output;
  EXPECT_NE(told.output.find("starts again from round "), std::string::npos) << told.output;
  expect_same_records("whole", "out", 0);
  expect_replayed(results("whole"), out);
  // The rank has not looked for some time.
  EXPECT_GT(notice_of_policy(out), 300.0);
  EXPECT_LE(notice_of_policy(out), 600.0);
}

/// A file in the result directory does what the signal does, with its own time.
TEST_F(LongJobSignals, AFileWarnsARank) {
  const std::string words = lasting_job(
      100,
      "--set evaluate_every=0 --set checkpoint.policy=on-warning --set transience.notice=20s --decisions");
  const auto told = while_running(
      words, "until " + has_begun(0) +
                 "; do kill -0 $run || break; sleep 0.05; done; "
                 "echo 750 > warning; mv warning out/warning.rank_2; until " +
                 any_commit + "; do kill -0 $run || break; sleep 0.05; done; ls out/warning.rank_2; ");
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_NE(
      told.output.find("rank 2 (worker on 'node-3') was warned: its machine will be taken away in 750 s"),
      std::string::npos)
      << told.output;
  EXPECT_NE(told.output.find("cannot access 'out/warning.rank_2'"), std::string::npos) << told.output;
  const Results out = results("out");
  EXPECT_GT(notice_of_policy(out), 600.0);
  EXPECT_LE(notice_of_policy(out), 750.0);
}

/// A commit that is known to take longer is not begun.
TEST_F(LongJobSignals, ATooShortNoticeIsNotUsed) {
  const std::string words =
      lasting_job(100,
                  "--set evaluate_every=0 --set checkpoint.policy=on-warning --set "
                  "checkpoint.options.cost_s=60 --set checkpoint.at_end=false --set transience.notice=20s "
                  "--decisions");
  const auto told = killed(words, {{has_begun(0), "4", 0.4, "-USR1"}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const Results out = results("out");
  EXPECT_TRUE(out.journal.commits.empty());
  const auto& rows = out.journal.decisions;
  EXPECT_TRUE(std::ranges::any_of(
      rows, [](const auto& row) { return row.side == "checkpointing" && row.event.starts_with("warned "); }));
  EXPECT_TRUE(std::ranges::none_of(
      rows, [](const auto& row) { return row.side == "checkpointing" && row.decisions == "commit_now"; }));
}

TEST_F(JobSignals, WarningsNeedAJobThatStartsAgain) {
  const auto refused = line_.tandem(
      "run " + job(4, "--set recovery.mode=in-place --set checkpoint.policy=on-warning") + " --out out");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("machines are only warned where recovery.mode is restart"), std::string::npos)
      << refused.output;
}

// ---- Commits that cannot be written ----

/// The states of the server, with the moments of Adam, are larger than the model; the limit is between both.
TEST_F(JobSignals, ACommitBeyondTheLimitOfFileSizesFails) {
  const std::string words =
      job(6,
          "--set evaluate_every=0 --set recovery.mode=in-place --set optimizer.kind=adam --set "
          "checkpoint.policy=fixed --set checkpoint.options.interval=2 --set checkpoint.at_end=false "
          "--decisions");
  succeeds("simulate " + words + " --out whole");
  const auto size = [this](const std::string& name) {
    return std::filesystem::file_size(line_.folder() / "whole/checkpoints" / name);
  };
  const auto model = size("round_00000004.pt"), state = size("round_00000004.server_0.state");
  ASSERT_LT(model * 3 / 2, state);
  const auto told =
      line_.shell(fmt::format("ulimit -f {}; \"$TANDEM\" simulate {} --out out", model * 5 / 4 / 512, words));
  ASSERT_EQ(told.exit_code, 0) << told.output;
  // After round 2, then after one round more, and after two more.
  EXPECT_NE(told.output.find("commits: 0 (3 more were not completed)"), std::string::npos) << told.output;
  EXPECT_EQ(results("out").summary.commits.value().failed_commits, 3);
  EXPECT_EQ(contents("whole/model.pt"), contents("out/model.pt")) << "training continued";
  EXPECT_TRUE(std::ranges::any_of(results("out").journal.decisions, [](const auto& row) {
    return row.side == "checkpointing" && row.event.starts_with("commit_failed ") &&
           row.decisions == "next_commit_in rounds=1";
  }));
  EXPECT_EQ(line_.shell("ls out/checkpoints | grep -c 'server.*state\\|partial'").output, "0\n");
}

/// On a file system that fills up during the run, and has space again before its end.
TEST_F(LongJobSignals, AFullDiskCostsOnlyTheCommitsWhileItIsFull) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can mount a small file system";
  ASSERT_EQ(
      line_.shell("mkdir small && mount -t tmpfs -o size=16m tmpfs small && ln -s small/out out").exit_code,
      0);
  const std::string words = lasting_job(
      200, "--set evaluate_every=0 --set checkpoint.policy=fixed --set checkpoint.options.interval=2");
  succeeds("simulate " + words + " --out whole");
  // Full from the second commit on, when the first one is complete, until others have failed: files appear in
  // the folder and vanish, but no commit is completed. After a later one, the death of a rank starts the job
  // again.
  const auto told = line_.shell(
      "rank() { for p in $(" + list_processes("tandem-rank") +
      "); do tr '\\0' '\\n' < /proc/$p/environ 2> /dev/null | grep -qx OMPI_COMM_WORLD_RANK=$1 && echo $p; "
      "done; }; "
      "\"$TANDEM\" run " +
      words +
      " --out small/out > told.txt 2>&1 & run=$!; "
      "until [ $(ls small/out/checkpoints 2> /dev/null | grep -c '[.]pt$') -ge 2 ]; do kill -0 $run || "
      "break; "
      "sleep 0.01; done; "
      "newest() { ls small/out/checkpoints | grep '[.]pt$' | tail -1; }; "
      "last=$(newest); tries=0; until [ $tries -ge 4 ]; do kill -0 $run || break; "
      "dd if=/dev/zero of=small/filler bs=64k oflag=append conv=notrunc 2> /dev/null; "
      "[ \"$(newest)\" = \"$last\" ] || { last=$(newest); tries=0; }; "
      "now=$(stat -c %y small/out/checkpoints); [ \"$now\" = \"$seen\" ] || tries=$((tries + 1)); seen=$now; "
      "sleep 0.01; done; newest > full.txt; rm small/filler; "
      "for i in 1 2; do last=$(newest); until [ \"$(newest)\" != \"$last\" ]; do kill -0 $run || break; "
      "sleep 0.01; done; done; kill -KILL $(rank 2); "
      "wait $run; code=$?; cat told.txt; exit $code");
  EXPECT_EQ(told.exit_code, 0) << told.output;
  EXPECT_EQ(contents("full.txt").substr(0, 6), "round_") << "the commit before counts";
  if (told.exit_code == 0) {
    expect_same_records("whole", "out", 0);
    expect_each_step_once("out");
    const auto commits = to_json(results("out").summary).at("commits");
    EXPECT_GE(commits.value("failed", 0), 1) << told.output;
    EXPECT_GE(commits.at("count"), 2) << told.output;
  }
  line_.shell("umount -l small");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
