// Jobs that start again with fewer workers, and whose commits are on their machines (checkpoint.to): those
// that are left have the parts of the others, or the job starts from an earlier commit.
#include <algorithm>

#include "tests/cli/fewer_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Rounds = std::vector<std::int64_t>;

const std::string every_tenth_round = "--set checkpoint.policy=fixed --set checkpoint.options.interval=10 ";
const std::string in_memory =
    "--set checkpoint.to=buddy --set checkpoint.keep=2 --set recovery.mode=restart ";

class FewerOnMachines : public FewerWorkers {
 protected:
  static std::vector<std::int64_t> lost_commits(const Results& results) {
    Rounds rounds;
    for (const auto& generation : results.info.generations)
      if (generation.lost_commit) rounds.push_back(*generation.lost_commit);
    return rounds;
  }
  /// Of a job like the one of the test that has no departure.
  double whole_s(const std::string& words) const {
    succeeds("simulate " + words + " --out stays --force");
    return makespan("stays");
  }
  std::string files(const std::string& folder) const { return line_.shell("ls " + folder).output; }
};
using LongFewerOnMachines = FewerOnMachines;

class ShrunkenInMemory : public FewerOnMachines, public ::testing::WithParamInterface<std::string> {};

/// Also the parts of those that are absent: the second generation starts from what four have written, and
/// the third from what three have.
TEST_P(ShrunkenInMemory, EndsAsTheSameDoneByHand) {
  const std::string words = experiment(24, commits + GetParam());
  succeeds("simulate " + words + " --out whole");
  const double time_s = whole_s(words + " " + in_memory);
  succeeds("simulate " + words + ' ' + in_memory + "--set recovery.policy=shrink " +
           departs({{1, 0.4 * time_s}, {3, 0.7 * time_s}}) + "--out out");
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}, {0, 2}}));
  const auto rounds = rounds_of_generations(all);
  EXPECT_GT(rounds[1], 0);
  EXPECT_GT(rounds[2], rounds[1]);
  expect_as_by_hand("whole", "out", 24);
  expect_each_step_once("out");
}

INSTANTIATE_TEST_SUITE_P(
    LongOthers, ShrunkenInMemory,
    ::testing::Values("--set placement.servers=[server,node-4] --set optimizer.momentum=0.9",
                      "--set sync.algorithm=local-sgd --set sync.over=all-reduce --set optimizer.kind=adam",
                      "--set checkpoint.mode=background"));

/// The new machine gets all that it starts from; those before it and after it do, too.
TEST_F(LongFewerOnMachines, GrowAgainWhenAMachineHasComeUp) {
  const std::string words = experiment(24, commits);
  succeeds("simulate " + words + " --out whole");
  const double time_s = whole_s(words + in_memory);
  succeeds("simulate " + words + in_memory + "--set recovery.policy=restart --set recovery.least=2 " +
           departs({{0, 0.4 * time_s}}) + fmt::format("--set transience.start={} --out out", 0.4 * time_s));
  EXPECT_EQ(slots_of_generations(results("out")),
            (std::vector<Slots>{{0, 1, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_GT(rounds_of_generations(results("out"))[2], rounds_of_generations(results("out"))[1]);
  expect_as_by_hand("whole", "out", 24);
  expect_each_step_once("out");
}

/// The copies are made again at once: the second departure comes before the next commit, and takes the only
/// machine along that the first one left with the part of worker 1.
TEST_F(LongFewerOnMachines, HaveTwoCopiesOfEachPartBeforeTheNextCommit) {
  const std::string words =
      experiment(24, commits + in_memory + "--set sync.over=all-reduce --set recovery.policy=shrink ");
  whole_s(words);
  const double first_s = results("stays").journal.commits.at(3).ended.count() + 1e-6;
  succeeds("simulate " + words + departs({{1, first_s}}) + "--out one");
  const Results one = results("one");
  const double began_s = one.info.generations[1].began.value().count();
  const auto next = std::ranges::find_if(
      one.journal.commits, [&](const auto& commit) { return commit.started.count() > began_s; });
  ASSERT_NE(next, one.journal.commits.end());
  const double second_s = next->started.count() - 1e-6;
  succeeds("simulate " + words + departs({{1, first_s}, {2, second_s}}) + "--out out");
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all), (std::vector<Slots>{{0, 1, 2, 3}, {0, 2, 3}, {0, 3}}));
  const auto rounds = rounds_of_generations(all);
  EXPECT_GT(rounds[1], 0);
  EXPECT_EQ(rounds[2], rounds[1]);
  EXPECT_TRUE(lost_commits(all).empty());
  // Without the time for the copies, the part is gone, and the second generation has begun for nothing.
  const std::string told =
      succeeds("simulate " + words + departs({{1, first_s}, {2, began_s + 1e-6}}) + "--out pair");
  EXPECT_EQ(rounds_of_generations(results("pair")), (Rounds{0, rounds[1], 0}));
  EXPECT_EQ(lost_commits(results("pair")), Rounds{rounds[1]});
  expect_in(fmt::format("commits were lost with the last copy of one of their parts, and the job "
                        "started from an earlier one: round {}",
                        rounds[1]),
            told);
  EXPECT_GE(results("pair").summary.membership.value().lost_samples.value(), rounds[1] * 32)
      << "all that was done";
  expect_each_step_once("pair");
}

/// Two machines at once: a host and its buddy have had all copies of a part, others have not.
TEST_F(FewerOnMachines, APairThatIsLostTakesTheCommitsAlong) {
  const std::string words = experiment(24, commits + in_memory + "--set recovery.policy=shrink ");
  const double time_s = 0.5 * whole_s(words);
  succeeds("simulate " + words + departs({{1, time_s}, {3, time_s}}) + "--out apart");
  EXPECT_GT(rounds_of_generations(results("apart"))[1], 0);
  succeeds("simulate " + words + departs({{1, time_s}, {2, time_s}}) + "--out pair");
  const Results pair = results("pair");
  EXPECT_EQ(slots_of_generations(pair), (std::vector<Slots>{{0, 1, 2, 3}, {0, 3}}));
  EXPECT_EQ(rounds_of_generations(pair), (Rounds{0, 0}));
  EXPECT_EQ(lost_commits(pair).size(), 1U);
  // As the smaller job from its beginning.
  succeeds("simulate " + experiment(24, "--set placement.workers=[node-1,node-6]") + " --out two");
  EXPECT_TRUE(contents("two/model.pt") == contents("pair/model.pt")) << "the models differ";
  const auto lost = pair.summary.membership.value().lost_samples.value();
  EXPECT_GE(lost, lost_commits(pair).front() * 4 * 8) << "all that was done";
}

/// A departure while the copies of a commit are on their way takes it along; the one before is whole.
TEST_F(LongFewerOnMachines, StartFromTheLastCommitThatIsWholeInWhatIsLeft) {
  const std::string words =
      experiment(24, commits + in_memory + "--set sync.over=all-reduce --set recovery.policy=shrink ");
  whole_s(words);
  const Results stays = results("stays");
  ASSERT_EQ(stays.journal.commits.size(), 8U);
  const CommitRecord &before = stays.journal.commits[3], &commit = stays.journal.commits[4];
  int struck = 0;
  for (const double part : {0.1, 0.3, 0.5, 0.7, 0.9}) {
    const Seconds departs_s = commit.started + (commit.ended - commit.started) * part;
    succeeds("simulate " + words + departs({{1, departs_s.count()}}) + "--out out --force");
    const Results all = results("out");
    const auto lost = lost_commits(all);
    if (lost.empty()) continue;
    ++struck;
    EXPECT_EQ(lost, Rounds{commit.round}) << part;
    EXPECT_EQ(rounds_of_generations(all), (Rounds{0, before.round})) << part;
  }
  EXPECT_GT(struck, 0);
  succeeds("simulate " + words + departs({{1, commit.ended.count() + 1e-6}}) + "--out later");
  EXPECT_EQ(rounds_of_generations(results("later")), (Rounds{0, commit.round}));
}

/// It has nobody to keep copies.
TEST_F(LongFewerOnMachines, AreContinuedByASingleHost) {
  const std::string words =
      experiment(24, commits + in_memory + "--set sync.over=all-reduce --set recovery.policy=shrink ");
  const double time_s = whole_s(words);
  succeeds("simulate " + words + departs({{0, 0.3 * time_s}, {1, 0.5 * time_s}, {3, 0.7 * time_s}}) +
           "--out out");
  const Results all = results("out");
  EXPECT_EQ(slots_of_generations(all).back(), (Slots{2}));
  const auto rounds = rounds_of_generations(all);
  EXPECT_GT(rounds.back(), rounds[1]);
  EXPECT_EQ(all.journal.commits.back().round, 24);
  expect_each_step_once("out");
}

/// Of the parts that it had as a member of other generations, too.
TEST_F(LongFewerOnMachines, EachHostKeepsTheLastCommitsAlone) {
  const std::string words = experiment(30, every_third_round + in_memory + "--set recovery.policy=shrink ");
  const double time_s = whole_s(words);
  succeeds("simulate " + words + departs({{1, 0.4 * time_s}}) + "--out out");
  EXPECT_LT(rounds_of_generations(results("out"))[1], 20);
  for (const std::string host : {"node-1", "node-3", "node-6", "server"}) {
    const std::string left = files("out/memory/" + host + "/checkpoints");
    expect_in("round_00000030.", left);
    for (const char* old : {"round_00000009", "round_00000012", "round_00000015", "round_00000018"})
      expect_not_in(old, left);
  }
}

/// Servers' parts are on hosts that stay.
TEST_F(LongFewerOnMachines, TheDiskOfAServerSurvivesTheMachinesOfWorkers) {
  const std::string words = experiment(
      24, commits + "--set checkpoint.to=local --set recovery.mode=restart --set recovery.policy=shrink ");
  const std::string asynchronous = words + "--set sync.algorithm=asp ";
  const double time_s = whole_s(asynchronous);
  succeeds("simulate " + asynchronous + departs({{1, 0.5 * time_s}}) + "--out out");
  EXPECT_GT(rounds_of_generations(results("out"))[1], 0);
  expect_each_step_once("out");
  // Where the states of workers are needed, one departure takes all commits along.
  succeeds("simulate " + words + departs({{1, 0.5 * whole_s(words)}}) + "--out bsp");
  EXPECT_EQ(rounds_of_generations(results("bsp")), (Rounds{0, 0}));
  EXPECT_EQ(lost_commits(results("bsp")).size(), 1U);
}

#ifdef TANDEM_TESTS_RUN
/// In real runs, memories of machines that depart: RevokedJobs.
/// The machine of a rank that dies is still there, with its disk or memory, but has no rank any more.
TEST_F(LongFewerOnMachines, ADeathLosesNoPartOfACommit) {
  for (const std::string to : {"buddy", "local"}) {
    SCOPED_TRACE(to);
    const std::string words =
        job(120, every_tenth_round + "--set checkpoint.keep=0 --set recovery.policy=shrink --force");
    succeeds("simulate " + words + " --out whole");
    const auto told =
        killed(words + " --set checkpoint.keep=2 --set checkpoint.to=" + to, {{has_checkpoint(20), "1"}});
    ASSERT_EQ(told.exit_code, 0) << told.output;
    expect_in("generation 1 has 3 of 4 workers: 0, 2, 3", told.output);
    EXPECT_GE(rounds_of_generations(results("out"))[1], 10);
    expect_as_by_hand("whole", "out", 120);
    expect_each_step_once("out");
    line_.shell("rm -rf out hand-*");
  }
}
#endif

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
