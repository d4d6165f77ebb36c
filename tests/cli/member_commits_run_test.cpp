// `tandem run` with commits of workers that depart and join while they exchange without servers: they are
// those of the simulation, and the job is resumed from them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/resume_jobs.hpp"
#include "validation/compare/members.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Steps are much longer than exchanges, as in the simulation, so that a departure is in the same round in
/// both worlds. A commit after every 10 of 30 rounds. Times of machines are 100 times those of the job.
constexpr int rounds = 30;
const std::string committing =
    "--set checkpoint.policy=fixed --set checkpoint.options.interval=10 --set evaluate_every=0 --set "
    "workload.batch=100 --set transience.time_scale=100 --set physics.ensemble=0 --force ";

class MemberCommitJobs : public ResumeJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  using Committed = std::pair<std::int64_t, std::int64_t>;
  /// Rounds and bytes.
  static std::vector<Committed> commits_of(const Results& results) {
    std::vector<Committed> commits;
    for (const auto& commit : results.journal.commits) commits.emplace_back(commit.round, commit.bytes);
    return commits;
  }
  /// What happens to each machine.
  static std::set<Fate> changes_of(const Results& results) {
    const auto all = fates(results.journal);
    return {all.begin(), all.end()};
  }
  /// Nodes a, b, c and d are in the slots in that order; times in seconds of the job.
  static std::string departing(const std::vector<std::pair<double, std::string>>& events) {
    std::string text;
    for (const auto& [time_s, event] : events)
      text += fmt::format("{}{} {}", text.empty() ? "" : "; ", 100 * time_s, event);
    return trace_of_four(text);
  }
  std::string job(const std::string& events, const std::string& settings) const {
    return experiment(rounds, committing + events + settings + " " + GetParam());
  }
  /// Without files.
  static bool is_modelled() { return GetParam().find("modelled") != std::string::npos; }
  /// Of the job without departures.
  std::vector<CommitRecord> undisturbed(const std::string& settings) const {
    succeeds("simulate " + job(departing({{1000, "remove a"}}), settings) + " --out undisturbed");
    return results("undisturbed").journal.commits;
  }
  static double between(Seconds one, Seconds other) { return (one + other).count() / 2; }

  /// The mixed lab with a fast network; `slow_disks`: a commit takes about a second.
  std::string lab(bool slow_disks) const {
    std::vector<Edit> edits = {{"bandwidth=\"125MBps\"", "bandwidth=\"12500MBps\""}};
    if (slow_disks) edits.push_back(disks_of("node-[0-9]", "200MBps", "2MBps"));
    return "--set platform=" + edited_lab(line_, edits) + " ";
  }

  /// In both worlds. How far the measured job is when its members change depends on how busy this machine is,
  /// so its commits may have other sizes, and those during which they change do not count.
  void simulate_and_run(const std::string& words) const {
    succeeds("simulate " + words + " --decisions --out simulated");
    succeeds("run " + words + " --decisions --out measured");
    const Results simulated = results("simulated"), measured = results("measured");
    std::set<std::int64_t> sizes;
    for (const auto& [round, bytes] : commits_of(simulated)) sizes.insert(bytes);
    EXPECT_EQ(sizes.size(), 2U) << "of all workers, and without one";
    for (const auto& [round, bytes] : commits_of(measured)) {
      EXPECT_EQ(round % 10, 0);
      EXPECT_TRUE(sizes.contains(bytes)) << bytes;
    }
    EXPECT_EQ(changes_of(simulated), changes_of(measured));
    expect_replayed(simulated, measured);
  }
  /// With all workers.
  void expect_resumed(const std::string& world, const std::string& from, std::int64_t round) const {
    SCOPED_TRACE(world);
    const std::string out = world + "-" + from;
    succeeds(world + " --resume " + from + " --set stop.rounds=35 --out " + out + " --force");
    const Results resumed = results(out);
    EXPECT_EQ(resumed.info.resumed.value().round, round);
    EXPECT_EQ(resumed.summary.rounds, 35);
    // With a model of its own each, no worker knows what the others have applied.
    EXPECT_GE(resumed.summary.membership.value().lost_samples.value_or(0), 0);
    expect_all_workers(resumed.journal, round);
  }
  /// Each has joined and makes steps. The machines of a resumed job depart again, and where this machine is
  /// busy that can be before the first round has ended: then the one that departed may have no step.
  static void expect_all_workers(const Journal& journal, std::int64_t first_round) {
    std::map<Rank, Seconds> second_rounds;  ///< when each of the workers began its own
    std::set<Rank> workers;
    for (const auto& step : journal.steps) {
      workers.insert(step.rank);
      if (step.round == first_round + 1) second_rounds.emplace(step.rank, step.start);
    }
    ASSERT_FALSE(second_rounds.empty());
    Seconds begun;
    for (const auto& [rank, start] : second_rounds) begun = std::max(begun, start);
    for (const auto& change : changes_with(journal, "departed"))
      if (change.time < begun) workers.insert(change.slot);
    EXPECT_EQ(workers.size(), 4U);
    std::set<int> joined;
    for (const auto& change : changes_with(journal, "joined")) joined.insert(change.slot);
    EXPECT_EQ(joined.size(), 4U);
  }
};

using LongMemberCommitJobs = MemberCommitJobs;

/// The first worker departs and is replaced, and then another one departs for good.
TEST_P(MemberCommitJobs, AreOfTheSameMembersInBothWorlds) {
  const std::string platform = lab(false);
  const auto commits = undisturbed(platform);
  ASSERT_EQ(commits.size(), 3U);
  const double first = commits[0].ended.count() / 2, second = between(commits[0].ended, commits[1].started),
               third = between(commits[1].ended, commits[2].started);
  simulate_and_run(job(departing({{first, "remove a"}, {second, "add a"}, {third, "remove c"}}),
                       platform + "--set recovery.policy=replace --set transience.start=0"));
  EXPECT_EQ(rounds_of_commits(results("simulated").journal), (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(rounds_of_commits(results("measured").journal).back(), 30);
  const auto all = commits_of(results("simulated"));
  EXPECT_LT(all[0].second, all[1].second);
  EXPECT_EQ(all[0].second, all[2].second);
  if (is_modelled()) return;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "measured/checkpoints/round_00000030.members"));
  EXPECT_FALSE(
      std::filesystem::exists(line_.folder() / "measured/checkpoints/round_00000030.worker_2.state"));
  expect_resumed("simulate", "simulated", 30);
  expect_resumed("run", "measured", 30);
}

/// The commit does not count; the duty of the first worker is that of the next one.
TEST_P(LongMemberCommitJobs, DoNotCountIfOneDepartsWhileItWrites) {
  const std::string platform = lab(true);
  const auto commits = undisturbed(platform);
  ASSERT_EQ(commits.size(), 3U);
  const double second = between(commits[1].started, commits[1].ended);
  simulate_and_run(job(departing({{second, "remove a"}}), platform + "--set recovery.policy=shrink"));
  const Results simulated = results("simulated");
  EXPECT_EQ(rounds_of_commits(simulated.journal), (std::vector<std::int64_t>{10, 30}));
  EXPECT_GT(simulated.journal.commits[0].bytes, simulated.journal.commits[1].bytes);
  EXPECT_EQ(rounds_of_commits(results("measured").journal).back(), 30);
  if (is_modelled()) return;
  expect_resumed("run", "measured", 30);
}

/// One worker decides by times, and the next one when it departs: all parts are of one round, the decisions
/// replay, and the job is resumed from the last commit.
TEST_P(LongMemberCommitJobs, InSecondsAreDecidedByTheFirstThatIsThere) {
  const std::string platform = lab(false);
  const auto commits = undisturbed(platform);
  ASSERT_EQ(commits.size(), 3U);
  const double first = commits[0].ended.count() / 2, second = between(commits[0].ended, commits[1].started);
  const std::string words = job(departing({{first, "remove a"}, {second, "add a"}}),
                                platform +
                                    "--set recovery.policy=replace --set transience.start=0 --set "
                                    "checkpoint.options.unit=seconds --set checkpoint.options.interval=" +
                                    fmt::format("{:.3f}", commits[0].ended.count() / 4));
  succeeds("simulate " + words + " --decisions --out simulated");
  succeeds("run " + words + " --decisions --out measured");
  const Results simulated = results("simulated"), measured = results("measured");
  EXPECT_EQ(changes_of(simulated), changes_of(measured));
  expect_replayed(simulated, measured);
  for (const Results* one : {&simulated, &measured}) {
    SCOPED_TRACE(one->info.world);
    ASSERT_GE(one->journal.commits.size(), 2U);
    std::set<Rank> deciders;
    for (const auto& record : one->journal.decisions)
      if (record.side == "checkpointing") deciders.insert(record.rank);
    EXPECT_EQ(deciders.size(), 2U);
  }
  if (is_modelled()) return;
  expect_resumed("simulate", "simulated", simulated.journal.commits.back().round);
  expect_resumed("run", "measured", measured.journal.commits.back().round);
}

const std::string modelled = "--set sync.over=all-reduce --set workload.math=modelled";
/// Each algorithm with each claim: `sim_test`, RandomMemberCommits.
INSTANTIATE_TEST_SUITE_P(LongModelled, MemberCommitJobs, ::testing::Values(modelled));
INSTANTIATE_TEST_SUITE_P(LongReal, MemberCommitJobs,
                         ::testing::Values("--set sync.over=all-reduce --set optimizer.momentum=0.9",
                                           "--set sync.algorithm=d-psgd --set sync.over=peers"));
INSTANTIATE_TEST_SUITE_P(LongModelled, LongMemberCommitJobs, ::testing::Values(modelled));
INSTANTIATE_TEST_SUITE_P(LongReal, LongMemberCommitJobs,
                         ::testing::Values("--set sync.over=all-reduce --set sync.algorithm=local-sgd "
                                           "--set sync.options.h=3"));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
