// `tandem run` with jobs that recover in place from departures of machines: ranks of a real mpirun are
// killed, and the job continues from its last commit, with the machines that there are then.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cli/restart_jobs.hpp"
#include "tests/support/membership_checks.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class InPlaceJobs : public RestartJobs {
 protected:
  inline static const std::string nobody_departs =
      "--set transience.lifetime=fixed --set 'transience.options.times=1e9;1e9' ";
  /// Nodes a to d are in the slots. Times are 100 times those of the job.
  static std::string departing(const std::string& events) {
    return "--set transience.lifetime=trace --set transience.start=10 --set transience.time_scale=100 --set "
           "'transience.options.events=0 add a; 0 add b; 0 add c; 0 add d; " +
           events + "' ";
  }
  /// A commit after every fifth round.
  std::string in_place(int rounds, const std::string& settings = "",
                       const std::string& machines = nobody_departs) const {
    return job(rounds,
               "--set recovery.mode=in-place --set checkpoint.policy=fixed --set "
               "checkpoint.options.interval=5 --set physics.ensemble=0 " +
                   machines + settings);
  }
  static std::int64_t last_restart(const Results& results) {
    return results.info.generations.back().at("round").get<std::int64_t>();
  }
  /// Commits are those of every fifth round, each once, and samples add up.
  static void expect_sound(const Results& results) {
    const auto rounds = rounds_of_commits(results.journal);
    EXPECT_TRUE(std::ranges::is_sorted(rounds));
    EXPECT_EQ(std::set(rounds.begin(), rounds.end()).size(), rounds.size());
    // With a model of its own each, no worker knows what the others have applied.
    if (sample_counts(results.info, results.journal).applied)
      expect_samples_add_up(results.info, results.journal);
  }
};
using LongInPlaceJobs = InPlaceJobs;

/// The job and the rank that dies.
class InPlaceDeath : public InPlaceJobs,
                     public ::testing::WithParamInterface<std::tuple<std::string, std::string>> {};

TEST_P(InPlaceDeath, OfAnyRankEndsLikeTheUninterruptedJob) {
  const auto& [settings, rank] = GetParam();
  succeeds("simulate " + in_place(60, settings) + " --out whole");
  const auto told = killed(in_place(60, settings), {{has_checkpoint(20), rank}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  EXPECT_NE(told.output.find("as generation 1"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("started again once after a rank had died, from round"), std::string::npos)
      << told.output;
  const Results out = results("out");
  ASSERT_EQ(restarts("out"), 1U);
  // The commit after round 20 may not have been complete.
  EXPECT_GE(last_restart(out), 15);
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 60);
  expect_sound(out);
  EXPECT_EQ(rounds_of_commits(out.journal), rounds_of_commits(results("whole").journal));
  EXPECT_EQ(out.summary.at("rounds"), 60);
  if (const auto samples = sample_counts(out.info, out.journal); samples.applied) {
    EXPECT_EQ(*samples.applied, samples.processed);
  }
  EXPECT_EQ(changes(out), changes(results("whole")));
  if (out.info.experiment.data.keep) {
    EXPECT_GT(out.summary.at("cache").value("kept", 0), 0);
  }
  EXPECT_EQ(line_.shell("ls out/checkpoints | grep -c 'records\\|start\\|announced'").output, "0\n");
}

const std::string all_reduce = "--set sync.over=all-reduce --set optimizer.momentum=0.9";

/// Four workers; a server; an evaluator; the steward.
INSTANTIATE_TEST_SUITE_P(LongOverServers, InPlaceDeath,
                         ::testing::Combine(::testing::Values("--set optimizer.momentum=0.9"),
                                            ::testing::Values("1", "4", "6")));
INSTANTIATE_TEST_SUITE_P(LongRules, InPlaceDeath,
                         ::testing::Combine(::testing::Values("--set sync.algorithm=local-sgd",
                                                              "--set placement.servers=[server,node-4]"),
                                            ::testing::Values("0")));
/// Four workers; an evaluator; the steward.
INSTANTIATE_TEST_SUITE_P(LongWithoutServers, InPlaceDeath,
                         ::testing::Combine(::testing::Values(all_reduce), ::testing::Values("0", "2", "5")));
/// Four workers; a server; a cache node, whose second tier is kept; an evaluator; the steward.
const std::string stored =
    "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache=minio --set "
    "data.cache_capacity=100kB --set data.disk_capacity=150kB --set data.keep=true ";
INSTANTIATE_TEST_SUITE_P(LongCaches, InPlaceDeath,
                         ::testing::Combine(::testing::Values(stored), ::testing::Values("0", "5")));
INSTANTIATE_TEST_SUITE_P(LongPeers, InPlaceDeath,
                         ::testing::Combine(::testing::Values("--set sync.algorithm=d-psgd --set "
                                                              "sync.over=peers"),
                                            ::testing::Values("3")));

/// One worker decides about commits by times, and it dies or another one does.
TEST_F(LongInPlaceJobs, WithCommitsInSecondsEndLikeTheUninterruptedJob) {
  for (const char* rank : {"0", "2"}) {
    SCOPED_TRACE(rank);
    line_.shell("rm -rf out");
    const std::string words =
        in_place(60, all_reduce +
                         " --decisions --force --set checkpoint.options.unit=seconds --set "
                         "checkpoint.options.interval=0.05 --set checkpoint.keep=0");
    succeeds("simulate " + words + " --out whole");
    const auto told = killed(words, {{has_checkpoint(20), rank}});
    ASSERT_EQ(told.exit_code, 0) << told.output;
    ASSERT_EQ(restarts("out"), 1U) << told.output;
    expect_same_records("whole", "out", 0);
    expect_each_step_once("out");
    expect_sound(results("out"));
    expect_replayed(results("whole"), results("out"));
  }
}

/// Its results are never written, but what happened to the machines is known.
TEST_F(LongInPlaceJobs, AnIncompleteJobTellsOfItsMachines) {
  const auto told = killed(in_place(1000000, "--set recovery.restarts=0 --set recovery.policy=replace ",
                                    departing("20 remove a; 30 remove b; 35 add b")),
                           {{has_checkpoint(20), "3", 0.6}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / "INCOMPLETE"));
  EXPECT_EQ(line_.shell("cut -d, -f2,5 out/membership.csv | grep 'joined\\|departed' | paste -sd ' '").output,
            "0,joined 1,joined 2,joined 3,joined 0,departed 1,departed 1,joined\n");
}

/// The order of messages decides: the model may be another one.
class InPlaceDeathByTiming : public InPlaceDeath {};

TEST_P(InPlaceDeathByTiming, LosesNoCommit) {
  const auto& [settings, rank] = GetParam();
  const std::string words = in_place(100, settings + " --decisions");
  const auto told = killed(words, {{has_checkpoint(20), rank}, {has_begun(1), "0", 0.3}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const Results out = results("out");
  ASSERT_GE(restarts("out"), 1U) << told.output;
  EXPECT_GE(out.info.generations[1].at("round"), 10);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", 100);
  expect_sound(out);
  succeeds("simulate " + words + " --out simulated");
  expect_replayed(results("simulated"), out);
}

INSTANTIATE_TEST_SUITE_P(LongOverServers, InPlaceDeathByTiming,
                         ::testing::Combine(::testing::Values("--set sync.algorithm=asp"),
                                            ::testing::Values("3", "4", "6")));
/// Rank 4 is the coordinator.
INSTANTIATE_TEST_SUITE_P(LongWithoutServers, InPlaceDeathByTiming,
                         ::testing::Combine(::testing::Values("--set sync.algorithm=esync --set "
                                                              "sync.over=all-reduce"),
                                            ::testing::Values("4")));

/// One machine departs for good and another one is replaced before the death, a third one departs after it.
class InPlaceMachines : public InPlaceJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(InPlaceMachines, DepartAsDrawnAcrossTheDeath) {
  const std::string words =
      in_place(600, "--decisions --set recovery.policy=replace " + GetParam(),
               departing("20 remove a; 30 remove b; 35 add b; 400 remove c; 410 add c"));
  const auto told = killed(words, {{has_checkpoint(20), "3", 0.6}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  ASSERT_EQ(restarts("out"), 1U) << told.output;
  EXPECT_EQ(told.output.find("the results lack"), std::string::npos) << told.output;
  const Results out = results("out");
  expect_each_step_once("out");
  expect_sound(out);
  std::map<std::string, std::vector<int>> slots;
  std::set<std::tuple<int, std::int64_t, std::string>> once;
  for (const auto& change : out.journal.membership) {
    // A machine that cannot be had is asked for again and again.
    if (change.slot < 0 || change.event == "requested" || change.event == "refused") continue;
    EXPECT_TRUE(once.emplace(change.slot, change.incarnation, change.event).second)
        << change.slot << ' ' << change.incarnation << ' ' << change.event;
    slots[change.event].push_back(change.slot);
  }
  std::ranges::sort(slots["departed"]);
  EXPECT_GE(slots["departed"].size(), 2U);
  EXPECT_EQ(slots["departed"][0], 0);
  EXPECT_EQ(slots["departed"][1], 1);
  // The slot whose machine departed for good has no worker in the second launch.
  const double began = out.info.generations[1].at("began_s").get<double>();
  std::set<Rank> after;
  for (const auto& step : out.journal.steps)
    if (step.start >= Seconds(began)) after.insert(step.rank);
  EXPECT_FALSE(after.contains(0));
  EXPECT_TRUE(after.contains(1));
  EXPECT_TRUE(after.contains(3));
  succeeds("simulate " + words + " --out simulated");
  expect_replayed(results("simulated"), out);
}

/// Of asynchronous workers a slow one hears of a commit later than the others, which may be at the next ones
/// then: with few files of commits, the ones whose records are complete must stay.
INSTANTIATE_TEST_SUITE_P(LongRoutes, InPlaceMachines,
                         ::testing::Values("", all_reduce, "--set sync.algorithm=asp", stored,
                                           "--set sync.algorithm=asp --set checkpoint.keep=1 --set "
                                           "checkpoint.options.interval=1"));

using LongInPlace = InPlaceJobs;

/// A machine is replaced after the death. By then the commit that the job continued from is removed.
TEST_F(LongInPlace, AReplacementNeedsNoFileOfThatCommit) {
  const std::string words =
      in_place(1000,
               "--set recovery.policy=replace --set sync.algorithm=asp --set checkpoint.keep=1 --set "
               "checkpoint.options.interval=1 --set evaluate_every=1000",
               departing("400 remove c; 410 add c; 800 remove c; 810 add c"));
  const auto told = killed(words, {{has_begun(0), "3", 0.6}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  const Results out = results("out");
  ASSERT_EQ(restarts("out"), 1U) << told.output;
  const double began = out.info.generations[1].at("began_s").get<double>();
  EXPECT_GT(last_restart(out), 0);
  std::set<std::string> events;
  for (const auto& change : out.journal.membership)
    if (change.slot == 2 && change.time > Seconds(began)) events.insert(change.event);
  EXPECT_TRUE(events.contains("departed")) << told.output;
  EXPECT_TRUE(events.contains("joined")) << told.output;
  expect_each_step_once("out");
  expect_sound(out);
}

/// A spare has taken the place of a machine that departed.
TEST_F(LongInPlace, SparesStayWhereTheyAre) {
  const std::string words = in_place(600,
                                     "--set recovery.policy=spares --set placement.worker_count=3 --set "
                                     "placement.spares=[node-4]",
                                     departing("20 remove a"));
  const auto told = killed(words, {{has_checkpoint(20), "1", 0.6}});
  ASSERT_EQ(told.exit_code, 0) << told.output;
  ASSERT_EQ(restarts("out"), 1U) << told.output;
  const Results out = results("out");
  const double began = out.info.generations[1].at("began_s").get<double>();
  std::set<Rank> after;
  for (const auto& step : out.journal.steps)
    if (step.start >= Seconds(began)) after.insert(step.rank);
  EXPECT_EQ(after, (std::set<Rank>{1, 2, 3}));
  expect_each_step_once("out");
  expect_sound(out);
}

TEST_F(LongInPlace, ThreeDeathsBeforeTheSameCommitEndTheJob) {
  const auto told = killed(in_place(1000000, "--set checkpoint.options.interval=900000"),
                           {{has_begun(0), "1"}, {has_begun(1), "6"}, {has_begun(2), "4"}});
  EXPECT_EQ(told.exit_code, 70) << told.output;
  EXPECT_NE(told.output.find("3 launches in a row ended after round 0 and before the next checkpoint"),
            std::string::npos)
      << told.output;
}

TEST_F(LongInPlace, AKilledCommandIsResumed) {
  const auto told = killed(in_place(1000000), {{has_checkpoint(20), "1"}},
                           "until " + has_begun(1) + "; do sleep 0.1; done; sleep 0.5; kill -KILL $run;");
  EXPECT_EQ(told.exit_code, 137) << told.output;
  const int end = static_cast<int>(
      std::stoi(line_.shell("ls out/checkpoints | sed -n 's/^round_0*\\([0-9]*\\)\\.pt$/\\1/p' | tail -n 1")
                    .output) +
      20);
  succeeds("run --resume out --set stop.rounds=" + std::to_string(end) + " --out resumed");
  succeeds("simulate " + in_place(end) + " --out whole");
  expect_same_end("whole", "resumed", results("resumed").info.resumed.at("round").get<int>());
}

TEST_F(LongInPlace, WithoutADeathNothingOfItIsLeft) {
  succeeds("run " + in_place(30) + " --out out");
  EXPECT_EQ(restarts("out"), 0U);
  EXPECT_EQ(line_.shell("ls out/checkpoints | grep -c 'records\\|start\\|announced'").output, "0\n");
}

/// The machine of the host on which the server, the evaluator and the steward run departs as drawn, after
/// half a second.
class InPlaceNeeded : public InPlaceJobs {
 protected:
  static constexpr int rounds = 400;
  static constexpr double replaced_s = 0.6;
  /// The platform on which it does; the machines of workers follow `machines`.
  std::string needed(int count, const std::string& settings, const std::string& machines) const {
    EXPECT_EQ(line_
                  .shell("sed '0,/<host id=\"server\"[^>]*>/s||&<prop id=\"tandem:lifetime\" value=\"fixed "
                         "times=1e9;1e9;1e9;1e9;50,1e9\"/>|' " +
                         testing::source_folder() + "/platforms/mixed_lab.xml > lives.xml")
                  .exit_code,
              0);
    return in_place(count, "--set platform=lives.xml " + settings, machines);
  }
  inline static const std::string workers_stay =
      "--set transience.lifetime=fixed --set transience.start=10 --set transience.time_scale=100 ";
  static std::vector<Change> changes_of_needed(const Results& results) {
    std::vector<Change> all = changes(results);
    std::erase_if(all, [](const Change& change) { return std::get<1>(change) >= 0; });
    return all;
  }
};
using LongInPlaceNeeded = InPlaceNeeded;

class InPlaceNeededMachines : public InPlaceNeeded, public ::testing::WithParamInterface<std::string> {};

TEST_P(InPlaceNeededMachines, DepartAsInTheSimulation) {
  const std::string words = needed(rounds, GetParam() + " --decisions", workers_stay);
  succeeds("simulate " + in_place(rounds, GetParam()) + " --out whole");
  succeeds("simulate " + words + " --out simulated");
  const std::string told = succeeds("run " + words + " --out out");
  EXPECT_NE(told.find("steward on 'server' departed (revoked); the job starts again from "),
            std::string::npos)
      << told;
  const Results simulated = results("simulated"), measured = results("out");
  EXPECT_EQ(ends_of_generations(measured), ends_of_generations(simulated));
  ASSERT_EQ(ends_of_generations(measured).size(), 2U);
  EXPECT_EQ(changes(measured), changes(simulated));
  EXPECT_EQ(changes_of_needed(measured).size(), 6U);
  for (const Results* one : {&simulated, &measured}) {
    EXPECT_EQ(one->summary.at("membership").at("other_departures"), 1);
    EXPECT_EQ(one->summary.at("membership").at("lost_samples"), 0);
    expect_sound(*one);
  }
  EXPECT_NEAR(simulated.info.generations[1].at("began_s").get<double>(), replaced_s, 1e-6);
  EXPECT_GE(measured.info.generations[1].at("began_s").get<double>(), replaced_s - 1e-3);
  expect_same_records("whole", "simulated", 0);
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", rounds);
  expect_replayed(simulated, measured);
  EXPECT_EQ(line_.shell("ls out/checkpoints | grep -c 'records\\|start\\|announced'").output, "0\n");
}

INSTANTIATE_TEST_SUITE_P(LongOverServer, InPlaceNeededMachines, ::testing::Values(""));
INSTANTIATE_TEST_SUITE_P(LongWithoutServers, InPlaceNeededMachines, ::testing::Values(all_reduce));

/// Machines of workers depart before it, meanwhile and after it.
TEST_F(LongInPlaceNeeded, DepartBesidesThoseOfWorkers) {
  const std::string words =
      needed(600, "--set sync.algorithm=asp --decisions",
             departing("20 remove a; 30 add a; 55 remove b; 65 add b; 100 remove c; 110 add c"));
  succeeds("simulate " + words + " --out simulated");
  succeeds("run " + words + " --out out");
  for (const char* out : {"simulated", "out"}) {
    SCOPED_TRACE(out);
    const Results found = results(out);
    ASSERT_EQ(ends_of_generations(found).size(), 2U);
    expect_sound(found);
    expect_each_step_once(out);
    EXPECT_GE(found.summary.at("membership").at("departures"), std::string(out) == "out" ? 2 : 3);
  }
  EXPECT_EQ(changes_of_needed(results("out")), changes_of_needed(results("simulated")));
  expect_replayed(results("simulated"), results("out"));
}

/// Without values, too, a job continues from its commits.
TEST_F(LongInPlaceNeeded, OfModelledMathematicsContinueFromCommits) {
  const std::string words = needed(rounds, "--set workload.math=modelled", workers_stay);
  succeeds("run " + words + " --out out");
  const Results out = results("out");
  ASSERT_EQ(ends_of_generations(out).size(), 2U);
  EXPECT_GT(last_restart(out), 0);
  expect_each_step_once("out");
  EXPECT_EQ(out.summary.at("rounds"), rounds);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
