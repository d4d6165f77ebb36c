// Jobs that commit their state apart from evaluations: what `tandem simulate --resume` continues from, and
// that `tandem run` commits the same.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using ResumeCommits = CommittingJobs;
using LongResumeCommits = CommittingJobs;

class ResumeFromCommit : public ResumeCommits, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeFromCommit, EndsLikeTheUninterruptedJob) {
  succeeds("simulate " + committing(8, GetParam()) + " --out whole");
  succeeds("simulate " + committing(5, GetParam()) + " --out first");
  const std::string told = succeeds("simulate --resume first/ --set stop.rounds=8");
  EXPECT_NE(told.find("resuming from round 3 of "), std::string::npos) << told;
  EXPECT_EQ(told.find("cannot be used"), std::string::npos) << told;
  EXPECT_EQ(told.find("may differ"), std::string::npos) << told;
  expect_same_end("whole", "first-resumed", 3);
}

std::vector<std::string> all_settings() {
  const std::string momentum = " --set optimizer.momentum=0.9";
  const std::string two_shards = " --set placement.servers=[server,node-4]";
  const std::string by_means = " --set optimizer.update_at=workers";
  std::vector<std::string> all = {
      two_shards + momentum,
      two_shards + momentum + by_means + " --set sync.overlap=both",
      two_shards + momentum + " --set sync.overlap=both",
      "--set sync.over=all-reduce --set sync.overlap=both" + momentum,
      "--set checkpoint.mode=background" + two_shards + momentum,
      "--set checkpoint.mode=background --set sync.over=all-reduce" + momentum,
      "--set sync.pull=requested --set placement.evaluator=first-worker" + two_shards + momentum,
      "--set sync.exchange=by-key --set workload.bucket_bytes=100kB" + two_shards + momentum,
      "--set placement.evaluator=first-worker --set sync.over=all-reduce" + momentum,
      "--set data.source=storage --set placement.cache_nodes=[server] --set data.prefetch=3" + momentum,
      "--set sync.compression=power-sgd" + two_shards + momentum,
      "--set sync.compression=top-k --set sync.over=all-reduce" + momentum,
      "--set evaluate_every=0" + momentum};
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (!algorithm.make.timing_driven) all.push_back(settings_for(algorithm, route) + momentum);
  return all;
}
INSTANTIATE_TEST_SUITE_P(LongAll, ResumeFromCommit, ::testing::ValuesIn(all_settings()));

/// Jobs whose workers may depart while the others continue: servers commit, and a resumed job has all workers
/// again.
class ResumeInPlace : public ResumeCommits {
 protected:
  /// The worker of one host departs at that time, and is replaced a little later.
  std::string departing(int rounds, double at_s, const std::string& settings) const {
    return committing(rounds,
                      fmt::format("--set recovery.policy=replace --set transience.lifetime=trace --set "
                                  "'transience.options.events={} remove node-2; {} add node-2' {}",
                                  at_s, 1.2 * at_s, settings));
  }
};
using LongResumeInPlace = ResumeInPlace;

TEST_F(LongResumeInPlace, BeforeTheFirstDepartureEndsLikeTheUninterruptedJob) {
  for (const char* settings :
       {"--set optimizer.momentum=0.9", "--set placement.servers=[server,node-4] --set optimizer.kind=adam",
        "--set sync.algorithm=local-sgd"}) {
    SCOPED_TRACE(settings);
    const std::string words = settings + std::string(" --force");
    succeeds("simulate " + departing(8, 1e6, words) + " --out whole");
    succeeds("simulate " + departing(5, 1e6, words) + " --out first");
    succeeds("simulate --resume first --set stop.rounds=8 --out resumed --force");
    expect_same_end("whole", "resumed", 3);
  }
}

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
  EXPECT_EQ(resumed.info.resumed.at("round"), rounds.back());
  EXPECT_GE(resumed.summary.at("rounds"), 12);
  std::set<Rank> workers;
  for (const auto& step : resumed.journal.steps) workers.insert(step.rank);
  EXPECT_EQ(workers.size(), first.info.experiment.placement.workers.size());
}

INSTANTIATE_TEST_SUITE_P(Asp, ResumeAfterADeparture, ::testing::Values("asp"));
INSTANTIATE_TEST_SUITE_P(LongOthers, ResumeAfterADeparture, ::testing::Values("bsp", "ssp", "local-sgd"));

TEST_F(ResumeInPlace, ServersThatCountPushesAreRefused) {
  const auto told = line_.tandem(
      "simulate " + departing(8, 1.0, "--set sync.algorithm=asp --set placement.servers=[server,node-4]") +
      " --out out");
  EXPECT_EQ(told.exit_code, 2) << told.output;
  EXPECT_NE(told.output.find("'placement.servers': expected one server for checkpoint.policy with asp"),
            std::string::npos)
      << told.output;
}

/// Of algorithms whose workers run at different speeds: no rank waits for ever, and the job continues.
class ResumeFromCommitByTiming : public ResumeCommits, public ::testing::WithParamInterface<std::string> {};

TEST_P(ResumeFromCommitByTiming, ContinuesToItsEnd) {
  succeeds("simulate " + committing(5, GetParam()) + " --out first");
  succeeds("simulate --resume first --set stop.rounds=8 --out second");
  const Results second = results("second");
  EXPECT_EQ(second.info.resumed.at("round"), rounds_of_commits(results("first").journal).back());
  ASSERT_FALSE(second.journal.commits.empty());
  EXPECT_GE(second.journal.commits.back().round, 6);
}

std::vector<std::string> by_timing() {
  std::vector<std::string> all = {
      "--set sync.algorithm=ssp --set placement.servers=[server,node-4]",
      "--set sync.algorithm=asp --set placement.servers=[server,node-4] --set checkpoint.mode=background",
      "--set sync.algorithm=lb-bsp --set optimizer.update_at=workers --set optimizer.momentum=0.9"};
  for (const auto& algorithm : sync::catalog().entries())
    for (const auto route : algorithm.make.routes)
      if (algorithm.make.timing_driven) all.push_back(settings_for(algorithm, route));
  return all;
}
INSTANTIATE_TEST_SUITE_P(LongAll, ResumeFromCommitByTiming, ::testing::ValuesIn(by_timing()));

/// Every policy with a plan of its own, over one server and over several, in both modes.
class CommitPolicies : public ResumeCommits, public ::testing::WithParamInterface<std::string> {};

TEST_P(CommitPolicies, ReplayAndResume) {
  const std::string settings = "--set evaluate_every=0 --set optimizer.momentum=0.9 " + GetParam();
  succeeds("simulate " + experiment(30, settings) + " --out whole");
  succeeds("simulate " + experiment(20, settings) + " --decisions --out first");
  const Results first = results("first");
  ASSERT_GE(first.journal.commits.size(), 2U);
  EXPECT_EQ(first.summary.at("commits").at("count"), first.journal.commits.size());
  succeeds("simulate --resume first --set stop.rounds=30 --decisions --out second");
  expect_same_end("whole", "second", static_cast<int>(rounds_of_commits(first.journal).back()));
  expect_replayed(first, results("second"));
}

std::vector<std::string> policies() {
  std::vector<std::string> all;
  for (const std::string policy :
       {"young --set checkpoint.options.mtbf_s=10", "daly --set checkpoint.options.mtbf_s=10",
        "optimal --set checkpoint.options.mtbf_s=10", "hazard --set checkpoint.options.scale_s=10",
        "budget --set checkpoint.options.share=0.1",
        "fixed --set checkpoint.options.unit=seconds --set checkpoint.options.interval=0.2"})
    for (const std::string more : {"", " --set placement.servers=[server,node-4]",
                                   " --set checkpoint.mode=background", " --set sync.algorithm=local-sgd"})
      all.push_back("--set checkpoint.policy=" + policy + more);
  return all;
}
INSTANTIATE_TEST_SUITE_P(LongAll, CommitPolicies, ::testing::ValuesIn(policies()));

// ---- Incomplete commits ----

TEST_F(LongResumeCommits, IncompleteOnesAreSkipped) {
  succeeds("simulate " + committing(9, "") + " --out whole");
  succeeds("simulate " + committing(7, "") + " --out first");
  const auto state = line_.folder() / "first/checkpoints/round_00000006.worker_2.state";
  std::filesystem::resize_file(state, std::filesystem::file_size(state) - 1);
  const std::string told = succeeds("simulate --resume first --out second --set stop.rounds=9");
  EXPECT_NE(told.find("the checkpoint of round 6 cannot be used: state '"), std::string::npos) << told;
  EXPECT_NE(told.find("resuming from round 3 of "), std::string::npos) << told;
  expect_same_end("whole", "second", 3);
}

TEST_F(LongResumeCommits, WithoutItsModelOrOneStateACommitIsNone) {
  succeeds("simulate " + committing(7, "") + " --out first");
  const auto file = [&](const std::string& name) { return line_.folder() / "first/checkpoints" / name; };
  std::filesystem::remove(file("round_00000006.worker_1.state"));
  succeeds("simulate --resume first --out second --set stop.rounds=9");
  EXPECT_EQ(results("second").info.resumed.at("round"), 3);
  std::filesystem::remove(file("round_00000003.pt"));
  const auto refused = line_.tandem("simulate --resume first --out third --set stop.rounds=9");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.output.find("expected a complete checkpoint in it, found none"), std::string::npos)
      << refused.output;
}

TEST_F(LongResumeCommits, AKilledSimulationResumesFromItsLastCommit) {
  const std::string settings =
      "--set checkpoint.policy=fixed --set checkpoint.options.interval=2 --set evaluate_every=0 "
      "--set optimizer.momentum=0.9";
  const auto killed = line_.shell(
      "\"$TANDEM\" simulate " + experiment(1000000, settings) +
      " --out killed & job=$!; "
      // Older files are removed.
      "while ! ls killed/checkpoints | grep -q '[1-9][0-9][.]pt$'; do kill -0 $job || exit 9; sleep 0.02; "
      "done; "
      "kill -KILL $job; wait $job; [ -e killed/INCOMPLETE ]");
  ASSERT_EQ(killed.exit_code, 0) << killed.output;
  const std::string newest =
      line_
          .shell(
              "ls killed/checkpoints | sed -n 's/^round_0*\\([1-9][0-9]*\\)[.]pt$/\\1/p' | sort -n | tail -1")
          .output;
  const int end = std::stoi(newest) + 3;
  succeeds("simulate " + experiment(end, settings) + " --out whole");
  succeeds("simulate --resume killed --out resumed --set stop.rounds=" + std::to_string(end));
  const int round = results("resumed").info.resumed.at("round").get<int>();
  EXPECT_GE(round, std::stoi(newest) - 2);
  expect_same_end("whole", "resumed", round);
}

// ---- Rejected requests ----

TEST_F(ResumeCommits, BadKeysAreRefused) {
  const auto refuses = [&](const std::string& settings, const std::string& expected) {
    const auto result = line_.tandem("simulate " + experiment(4, settings) + " --out refused");
    EXPECT_EQ(result.exit_code, 2) << settings;
    EXPECT_NE(result.output.find(expected), std::string::npos) << settings << '\n' << result.output;
  };
  refuses("--set checkpoint.policy=yong", "did you mean 'young'?");
  refuses("--set checkpoint.options.interval=3", "nothing, because checkpoint.policy is empty");
  refuses("--set checkpoint.policy=fixed --set checkpoint.options.intervall=3", "intervall");
  refuses("--set checkpoint.policy=fixed --set checkpoint.options.interval=2.5", "a whole number of rounds");
  refuses("--set checkpoint.keep=-1", "checkpoint.keep");
  refuses("--set checkpoint.keep_every=10",
          "key 'checkpoint.keep_every': expected 0, because checkpoint.policy is empty");
  refuses("--set checkpoint.policy=fixed --set checkpoint.to=local --set checkpoint.keep_every=10",
          "key 'checkpoint.keep_every': expected 0, because checkpoint.to is local");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
