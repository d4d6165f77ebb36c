// Jobs that commit their state apart from evaluations: each policy, departures between commits, and what is
// rejected. That jobs resumed from commits end as uninterrupted ones: interruptions_test.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Jobs whose workers may depart while the others continue: servers commit, and a resumed job has all workers
/// again.
class ResumeInPlace : public CommittingJobs {
 protected:
  /// The worker of one host departs at that time, and is replaced a little later.
  std::string departing(int rounds, double at_s, const std::string& settings) const {
    return committing(rounds, "--set recovery.policy=replace " +
                                  trace(fmt::format("{} remove node-2; {} add node-2", at_s, 1.2 * at_s)) +
                                  settings);
  }
};

/// The algorithm.
class ResumeAfterADeparture : public ResumeInPlace, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeAfterADeparture, ContinuesWithAllWorkers) {
  const std::string settings = fmt::format("--set sync.algorithm={} --force", GetParam());
  succeeds("simulate " + departing(8, 1e6, settings) + " --out whole");
  const double departs = 0.3 * makespan("whole");
  succeeds("simulate " + departing(8, departs, settings) + " --out first");
  const Results first = results("first");
  EXPECT_EQ(std::ranges::count(first.journal.membership, "departed", &MembershipRecord::event), 1);
  // Asynchronous workers take a few rounds more than asked for.
  const auto rounds = rounds_of_commits(first.journal);
  ASSERT_GE(rounds.size(), 2U);
  EXPECT_EQ(rounds[0], 3);
  EXPECT_EQ(rounds[1], 6);
  succeeds("simulate --resume first --set stop.rounds=12 --out resumed --force");
  const Results resumed = results("resumed");
  EXPECT_EQ(resumed.info.resumed.value().round, rounds.back());
  EXPECT_GE(resumed.summary.rounds, 12);
  std::set<Rank> workers;
  for (const auto& step : resumed.journal.steps) workers.insert(step.rank);
  EXPECT_EQ(workers.size(), first.info.experiment.placement.workers.size());
}

INSTANTIATE_TEST_SUITE_P(Asp, ResumeAfterADeparture, ::testing::Values("asp"));
INSTANTIATE_TEST_SUITE_P(LongOthers, ResumeAfterADeparture, ::testing::Values("bsp", "local-sgd"));

TEST_F(ResumeInPlace, ServersThatCountPushesAreRefused) {
  refuses("simulate --out out " +
              departing(8, 1.0, "--set sync.algorithm=asp --set placement.servers=[server,node-4]"),
          "'placement.servers': expected one server for checkpoint.policy with asp");
}

/// Every policy with a plan of its own; over one server and over several, in both modes.
class CommitPolicies : public ResumeJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(CommitPolicies, ReplayAndResume) {
  const std::string settings =
      "--set evaluate_every=0 --set optimizer.momentum=0.9 --set checkpoint.policy=" + GetParam();
  succeeds("simulate " + experiment(30, settings) + " --out whole");
  const Results first = simulate(experiment(20, settings) + " --decisions", "first");
  ASSERT_GE(first.journal.commits.size(), 2U);
  EXPECT_EQ(first.summary.commits.value().count, first.journal.commits.size());
  succeeds("simulate --resume first --set stop.rounds=30 --decisions --out second");
  expect_same_end("whole", "second", static_cast<int>(rounds_of_commits(first.journal).back()));
  expect_replayed(first, results("second"));
}

INSTANTIATE_TEST_SUITE_P(
    LongAll, CommitPolicies,
    ::testing::Values(
        "young --set checkpoint.options.mtbf_s=10",
        "daly --set checkpoint.options.mtbf_s=10 --set placement.servers=[server,node-4]",
        "optimal --set checkpoint.options.mtbf_s=10 --set checkpoint.mode=background",
        "optimal --set checkpoint.options.mtbf_s=10 --set placement.servers=[server,node-4]",
        "hazard --set checkpoint.options.scale_s=10 --set sync.algorithm=local-sgd",
        "budget --set checkpoint.options.share=0.1 --set checkpoint.mode=background",
        "fixed --set checkpoint.options.unit=seconds --set checkpoint.options.interval=0.2",
        "fixed --set checkpoint.options.unit=seconds --set checkpoint.options.interval=0.2 --set "
        "placement.servers=[server,node-4]"));

/// A job of 18 rounds with a commit every 10 is committed at its end, too, so nothing is done again.
TEST_F(ResumeInPlace, AJobThatHasEndedContinuesFromItsEnd) {
  for (const std::string more : {"", "--set sync.over=all-reduce"}) {
    const std::string settings =
        "--set evaluate_every=0 --set optimizer.momentum=0.9 --set checkpoint.policy=fixed --set "
        "checkpoint.options.interval=10 --force " +
        more;
    succeeds("simulate " + experiment(24, settings) + " --out whole");
    const Results first = simulate(experiment(18, settings), "first");
    EXPECT_EQ(rounds_of_commits(first.journal), (std::vector<std::int64_t>{10, 18}));
    succeeds("simulate --resume first --force --set stop.rounds=24 --out second");
    expect_same_end("whole", "second", 18);
  }
}

TEST_F(ResumeInPlace, BadKeysOfCommitsAreRefused) {
  const auto refused = [&](const std::string& settings, const std::string& why) {
    refuses("simulate " + experiment(4, settings) + " --out refused", why);
  };
  refused("--set checkpoint.policy=yong", "did you mean 'young'?");
  refused("--set checkpoint.options.interval=3", "nothing, because checkpoint.policy is empty");
  refused("--set checkpoint.policy=fixed --set checkpoint.options.intervall=3", "intervall");
  refused("--set checkpoint.policy=fixed --set checkpoint.options.interval=2.5", "a whole number of rounds");
  refused("--set checkpoint.keep=-1", "checkpoint.keep");
  refused("--set checkpoint.keep_every=10",
          "key 'checkpoint.keep_every': expected 0, because checkpoint.policy is empty, and states are");
  refused("--set checkpoint.policy=fixed --set checkpoint.to=local --set checkpoint.keep_every=10",
          "key 'checkpoint.keep_every': expected 0, because checkpoint.to is local");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
