// What killed jobs leave on the machine is found and removed, and nothing else. No other test runs meanwhile,
// because its jobs would remove it first.
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Leftovers : public ::testing::Test {
 protected:
  void SetUp() override { line_.tandem("clean"); }
  std::string segments() const {
    return line_.shell("ls /dev/shm | grep -E 'vader_segment|osc_sm' | sort").output;
  }
  /// Starts a job that would not end and kills its processes of that name without warning once `ready`.
  std::string killed_job(const std::string& words, const std::string& ready) const {
    return "\"$TANDEM\" run " + words +
           " --set stop.rounds=1000000 --force --out killed > killed.txt 2>&1 & run=$!; "
           "for i in $(seq 300); do sleep 0.1; " +
           ready + " && break; done; ";
  }
  CommandLine line_;
};
using LongLeftovers = Leftovers;

/// The processes of the job end by themselves. On an idle machine all of it takes less than two seconds.
TEST_F(LongLeftovers, NothingIsLeftOfAJobWhoseCommandIsKilled) {
  const auto killed =
      line_.shell(killed_job(line_.experiment(), has_started("killed")) +
                  "ls /dev/shm | grep -q vader_segment || echo had none; kill -9 $run; wait $run; for i in "
                  "$(seq 100); do left=$(" +
                  list_processes("mpirun|tandem|tandem-guard|tandem-rank") +
                  "); [ -z \"$left\" ] && break; sleep 0.1; done; echo left: $left");
  EXPECT_EQ(killed.output.find("had none"), std::string::npos) << killed.output;
  EXPECT_NE(killed.output.find("left:\n"), std::string::npos) << killed.output;
  EXPECT_EQ(segments(), "");
  EXPECT_NE(line_.tandem("clean --dry-run").output.find("nothing is left over"), std::string::npos);
}

/// mpirun and its ranks cannot remove their shared memory when all of them are killed, together with the
/// process that would do it then.
TEST_F(LongLeftovers, SharedMemoryOfAKilledJobIsListedAndRemoved) {
  const auto killed =
      line_.shell(killed_job(line_.experiment(), has_started("killed")) + "\"$TANDEM\" clean; kill -9 $run " +
                  "$(for p in $(pgrep -x 'mpirun|tandem-rank|tandem-guard'); do "
                  "[ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && echo $p; done); wait");
  EXPECT_NE(killed.output.find("nothing is left over"), std::string::npos) << "files of a living job\n"
                                                                           << killed.output;
  const std::string left = segments();
  ASSERT_NE(left, "");
  const auto listed = line_.tandem("clean --dry-run");
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_NE(listed.output.find("would remove shared memory /dev/shm/" + left.substr(0, left.find('\n'))),
            std::string::npos)
      << listed.output;
  EXPECT_EQ(segments(), left);
  const auto next = line_.tandem("run " + line_.experiment() + " --out next");
  EXPECT_EQ(next.exit_code, 0);
  EXPECT_NE(next.output.find("removed what killed jobs left: shared memory /dev/shm/"), std::string::npos)
      << next.output;
  EXPECT_EQ(segments(), "");
  EXPECT_NE(line_.tandem("clean").output.find("nothing is left over"), std::string::npos);
}

/// A job that starts again removes at once what the ranks that died have left.
TEST_F(LongLeftovers, AJobThatStartsAgainLeavesNoSharedMemory) {
  const auto told = line_.shell(
      "\"$TANDEM\" run " + line_.experiment("evaluate_every: 10\nrecovery: {mode: restart}\n") +
      " --set workload.math=real --set stop.rounds=200 --out out > told.txt 2>&1 & run=$!; "
      "until [ -e out/checkpoints/round_00000010.pt ]; do kill -0 $run || exit 9; sleep 0.02; done; "
      "kill -9 $(for p in $(pgrep -x tandem-rank); do [ \"$(readlink /proc/$p/cwd)\" = \"$PWD\" ] && echo "
      "$p; "
      "done | head -n 2); wait $run; code=$?; cat told.txt; exit $code");
  EXPECT_EQ(told.exit_code, 0) << told.output;
  EXPECT_NE(told.output.find("as generation 1"), std::string::npos) << told.output;
  EXPECT_NE(line_.tandem("clean --dry-run").output.find("nothing is left over"), std::string::npos);
}

/// Commits in memory: when `tandem run` is killed, they are saved to the result directory, from where the job
/// is resumed, also at once: that waits for them.
TEST_F(LongLeftovers, CommitsInMemoryOfAKilledJobAreKeptInItsResult) {
  const auto killed = line_.shell(
      killed_job(
          line_.experiment("recovery: {mode: restart}\ncheckpoint: {policy: fixed, options: {interval: "
                           "5}, to: buddy}\n") +
              " --set workload.math=real",
          "ls killed/memory/node-1/checkpoints 2> /dev/null | grep -q 0[1-9][0-9][.]pt") +
      "folder=$(readlink killed/memory); kill -9 $run; wait; \"$TANDEM\" clean > cleaned.txt; "
      "for i in $(seq 50); do \"$TANDEM\" run --resume killed --out resumed --set stop.rounds=1 > "
      "resumed.txt 2>&1; code=$?; cat resumed.txt; grep -q 'in use by' resumed.txt || break; "
      "sleep 0.1; done; cat cleaned.txt; echo was $folder; [ -e $folder ] && echo left over; "
      "exit $code");
  EXPECT_EQ(killed.exit_code, 2) << killed.output;
  EXPECT_NE(killed.output.find("already finished at round "), std::string::npos) << killed.output;
  EXPECT_NE(killed.output.find("was /dev/shm/tandem_commits."), std::string::npos) << killed.output;
  EXPECT_EQ(killed.output.find("left over\n"), std::string::npos) << killed.output;
  EXPECT_EQ(killed.output.find("removed commits in memory"), std::string::npos) << killed.output;
  EXPECT_FALSE(std::filesystem::is_symlink(line_.folder() / "killed/memory"));
  line_.shell("mkdir -p /dev/shm/tandem_commits.1.1/node-1");
  EXPECT_EQ(line_.tandem("run " + line_.experiment() + " --out next").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists("/dev/shm/tandem_commits.1.1")) << "only clean removes commits";
  const auto cleaned = line_.tandem("clean");
  EXPECT_FALSE(std::filesystem::exists("/dev/shm/tandem_commits.1.1"));
  EXPECT_NE(cleaned.output.find("removed commits in memory /dev/shm/tandem_commits.1.1"), std::string::npos)
      << cleaned.output;
}

TEST_F(LongLeftovers, ATemporaryClusterWhoseJobWasKilledIsRemoved) {
  const std::string lab = testing::source_folder() + "/platforms/mixed_lab.xml";
  const std::string platform =
      line_.shell("cp " + lab + " $(basename $PWD).xml; echo -n $PWD/$(basename $PWD).xml").output;
  const std::string id = line_.folder().filename().string();
  const auto killed =
      line_.shell(killed_job(line_.experiment() + " --set platform=" + platform + " --cluster " + platform,
                             "{ " + has_started("killed") + " || ! kill -0 $run; }") +
                  "kill -9 $run; wait; cat killed.txt");
  if (killed.output.find("an emulated cluster needs") != std::string::npos) GTEST_SKIP() << killed.output;
  const auto spaces = [&] { return line_.shell("ls /run/netns | grep -c tandem." + id).output; };
  ASSERT_NE(spaces(), "0\n") << killed.output;
  EXPECT_NE(line_.tandem("clean --dry-run").output.find("would remove emulated cluster '" + id + "'"),
            std::string::npos);
  const auto cleaned = line_.tandem("clean");
  EXPECT_EQ(cleaned.exit_code, 0) << cleaned.output;
  EXPECT_NE(cleaned.output.find("removed emulated cluster '" + id + "'"), std::string::npos)
      << cleaned.output;
  EXPECT_EQ(spaces(), "0\n");
}

/// The daemons of a killed cluster remove nothing.
TEST_F(Leftovers, SessionsOfDeadDaemonsAreRemoved) {
  const std::string session = "${TMPDIR:-/tmp}/ompi.$(uname -n).$(id -u)/jf.1";
  const std::string made = line_
                               .shell("true & dead=$!; wait; session=" + session +
                                      "; mkdir -p $session/pmix_dstor_ds21_$dead; echo -n $session")
                               .output;
  EXPECT_NE(line_.tandem("clean").output.find("removed session of Open MPI " + made), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(made));
}

/// Only on request: they may be worth resuming.
TEST_F(Leftovers, IncompleteResultsAreRemovedOnRequest) {
  ASSERT_EQ(line_.tandem("simulate " + line_.experiment() + " --out all/finished").exit_code, 0);
  line_.shell("mkdir -p all/mine; echo mine > all/mine/INCOMPLETE");
  const auto killed = line_.shell(
      "\"$TANDEM\" simulate " + line_.experiment() +
      " --set stop.rounds=1000000 --out all/killed > killed.txt 2>&1 & run=$!; "
      "for i in $(seq 300); do sleep 0.1; grep -q simulate all/killed/LOCK 2> /dev/null && break; done; "
      "\"$TANDEM\" clean --results all; kill -9 $run; wait; \"$TANDEM\" clean");
  EXPECT_EQ(killed.output.find("incomplete results"), std::string::npos) << killed.output;
  const auto prints = [&](const std::string& words, const std::string& text) {
    const auto result = line_.tandem(words);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
  };
  prints("clean --results all --dry-run", "would remove incomplete results all/killed\n");
  prints("clean --results all", "removed incomplete results all/killed\n");
  EXPECT_EQ(line_.shell("ls all").output, "finished\nmine\n");
  EXPECT_EQ(line_.tandem("clean --results nowhere").exit_code, 2);
}

/// A cluster that the user created stays until the user removes it.
TEST_F(LongLeftovers, AClusterOfTheUserStays) {
  const std::string platform = line_
                                   .shell("cp " + testing::source_folder() +
                                          "/platforms/mixed_lab.xml $(basename $PWD).xml; "
                                          "echo -n $PWD/$(basename $PWD).xml")
                                   .output;
  const auto made = line_.tandem("cluster up " + platform);
  if (made.exit_code == 2) GTEST_SKIP() << made.output;
  ASSERT_EQ(made.exit_code, 0) << made.output;
  EXPECT_NE(line_.tandem("clean").output.find("nothing is left over"), std::string::npos);
  EXPECT_NE(line_.tandem("cluster down " + platform).output.find("is down"), std::string::npos);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
