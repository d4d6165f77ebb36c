// `tandem run` with jobs that recover in place from departures of machines: ranks of a real mpirun are killed
// or machines depart that the job needs, and it continues from its last commit with the machines that there
// are then. That a job ends as if no rank had died: interruptions_test.cpp; limits, and commands that are
// killed: restart_test.cpp.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

const std::string all_reduce = "--set sync.over=all-reduce --set optimizer.momentum=0.9";
std::string departing(const std::string& events) { return trace_of_four(events) + hundredfold; }

using LongInPlace = InPlaceJobs;

/// Its results are never written, but what happened to the machines is known.
TEST_F(LongInPlace, AnIncompleteJobTellsOfItsMachines) {
  gives_up(in_place(1000000, "--set recovery.restarts=0 --set recovery.policy=replace ",
                    departing("20 remove a; 30 remove b; 35 add b")),
           {{has_checkpoint(20), "3", 0.6}});
  EXPECT_EQ(line_.shell("cut -d, -f2,5 out/membership.csv | grep 'joined\\|departed' | paste -sd ' '").output,
            "0,joined 1,joined 2,joined 3,joined 0,departed 1,departed 1,joined\n");
}

/// One machine departs for good and another one is replaced before the death, a third one departs after it.
class InPlaceMachines : public InPlaceJobs, public ::testing::WithParamInterface<std::string> {};

TEST_P(InPlaceMachines, DepartAsDrawnAcrossTheDeath) {
  const std::string told =
      survives(in_place(600, "--decisions --set recovery.policy=replace " + GetParam(),
                        departing("20 remove a; 30 remove b; 35 add b; 400 remove c; 410 add c")),
               {{has_checkpoint(20), "3", 0.6}});
  ASSERT_EQ(restarts("out"), 1U) << told;
  expect_not_in("the results lack", told);
  const Results out = results("out");
  expect_each_step_once("out");
  expect_sound(out);
  std::map<std::string, std::vector<int>> slots;
  std::set<Fate> once;
  for (const auto& [slot, incarnation, event, cause] : fates(out.journal)) {
    // A machine that cannot be had is asked for again and again.
    if (slot < 0 || event == "requested" || event == "refused") continue;
    EXPECT_TRUE(once.emplace(slot, incarnation, event, "").second)
        << slot << ' ' << incarnation << ' ' << event;
    slots[event].push_back(slot);
  }
  std::ranges::sort(slots["departed"]);
  ASSERT_GE(slots["departed"].size(), 2U);
  EXPECT_EQ(slots["departed"][0], 0);
  EXPECT_EQ(slots["departed"][1], 1);
  // The slot whose machine departed for good has no worker in the second launch.
  const std::set<Rank> after = last_workers(out);
  EXPECT_FALSE(after.contains(0));
  EXPECT_TRUE(after.contains(1));
  EXPECT_TRUE(after.contains(3));
  expect_replayed(out, out);
}

const std::string few_long_rounds =
    "--set stop.rounds=300 --set workload.measured_step=4ms --set workload.measured_on=raspberry-pi-4 ";

/// Of asynchronous workers a slow one is notified of a commit later than the others, which may be at the next
/// ones then: with few files of commits, the ones whose records are complete must stay.
INSTANTIATE_TEST_SUITE_P(
    LongRoutes, InPlaceMachines,
    ::testing::Values(
        few_long_rounds + all_reduce,
        "--set sync.algorithm=asp --set checkpoint.keep=1 --set checkpoint.options.interval=1",
        few_long_rounds +
            "--set data.source=storage --set placement.cache_nodes=[server] --set data.cache=minio "
            "--set data.cache_capacity=100kB --set data.disk_capacity=150kB --set data.keep=true"));

/// A machine is replaced after the death. By then the commit that the job continued from is removed.
TEST_F(LongInPlace, AReplacementNeedsNoFileOfThatCommit) {
  const std::string told =
      survives(in_place(1000,
                        "--set recovery.policy=replace --set sync.algorithm=asp --set checkpoint.keep=1 "
                        "--set checkpoint.options.interval=1 --set evaluate_every=1000",
                        departing("400 remove c; 410 add c; 800 remove c; 810 add c")),
               {{has_begun(0), "3", 0.6}});
  const Results out = results("out");
  ASSERT_EQ(restarts("out"), 1U) << told;
  EXPECT_GT(last_restart(out), 0);
  std::set<std::string> events;
  for (const auto& change : out.journal.membership)
    if (change.slot == 2 && change.time > last_begin(out)) events.insert(change.event);
  EXPECT_TRUE(events.contains("departed")) << told;
  EXPECT_TRUE(events.contains("joined")) << told;
  expect_each_step_once("out");
  expect_sound(out);
}

/// A spare has taken the place of a machine that departed.
TEST_F(LongInPlace, SparesStayWhereTheyAre) {
  const std::string told = survives(in_place(600,
                                             "--set recovery.policy=spares --set placement.worker_count=3 "
                                             "--set placement.spares=[node-4]",
                                             departing("20 remove a")),
                                    {{has_checkpoint(20), "1", 0.6}});
  ASSERT_EQ(restarts("out"), 1U) << told;
  EXPECT_EQ(last_workers(results("out")), (std::set<Rank>{1, 2, 3}));
  expect_each_step_once("out");
  expect_sound(results("out"));
}

TEST_F(LongInPlace, WithoutADeathNothingOfItIsLeft) {
  succeeds("run " + in_place(30) + " --out out");
  EXPECT_EQ(restarts("out"), 0U);
  expect_nothing_left_of_generations();
}

// ---- The machine of the host on which the server, the evaluator and the steward run ----

/// It departs as drawn, after half a second.
class InPlaceNeeded : public InPlaceJobs {
 protected:
  static constexpr double replaced_s = 0.6;
  /// The platform on which it does; the machines of workers follow `machines`.
  std::string needed(int count, const std::string& settings, const std::string& machines) const {
    const std::string lab =
        edited_lab(line_, {property_of("server", "tandem:lifetime", "fixed times=1e9;1e9;1e9;1e9;50,1e9")});
    return in_place(count, "--set platform=" + lab + " " + settings, machines);
  }
  inline static const std::string workers_stay = "--set transience.lifetime=fixed " + hundredfold;
  static std::vector<std::pair<double, Fate>> fates_of_needed(const Results& results) {
    auto all = timed_fates(results.journal);
    std::erase_if(all, [](const auto& change) { return std::get<0>(change.second) >= 0; });
    return all;
  }
};
using LongInPlaceNeeded = InPlaceNeeded;

class InPlaceNeededMachines : public InPlaceNeeded, public ::testing::WithParamInterface<std::string> {};

TEST_P(InPlaceNeededMachines, DepartAsInTheSimulation) {
  constexpr int rounds = 160;
  const std::string settings = lasting_steps(4) + GetParam();
  const std::string words = needed(rounds, settings + " --decisions", workers_stay);
  succeeds("simulate " + in_place(rounds, settings) + " --out whole");
  succeeds("simulate " + words + " --out simulated");
  expect_in("steward on 'server' departed (revoked); the job starts again from ",
            succeeds("run " + words + " --out out"));
  const Results simulated = results("simulated"), measured = results("out");
  EXPECT_EQ(ends_of_generations(measured), ends_of_generations(simulated));
  ASSERT_EQ(ends_of_generations(measured).size(), 2U);
  EXPECT_EQ(timed_fates(measured.journal), timed_fates(simulated.journal));
  EXPECT_EQ(fates_of_needed(measured).size(), 6U);
  for (const Results* one : {&simulated, &measured}) {
    EXPECT_EQ(one->summary.membership.value().other_departures, 1);
    EXPECT_EQ(one->summary.membership.value().lost_samples, 0);
    expect_sound(*one);
  }
  EXPECT_NEAR(last_begin(simulated).count(), replaced_s, 1e-6);
  EXPECT_GE(last_begin(measured).count(), replaced_s - 1e-3);
  expect_same_records("whole", "simulated", 0);
  expect_same_records("whole", "out", 0);
  expect_each_step_once("out");
  expect_each_evaluation_once("out", rounds);
  expect_replayed(simulated, measured);
  expect_nothing_left_of_generations();
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
    EXPECT_GE(found.summary.membership.value().departures, std::string(out) == "out" ? 2 : 3);
  }
  EXPECT_EQ(fates_of_needed(results("out")), fates_of_needed(results("simulated")));
  expect_replayed(results("simulated"), results("out"));
}

/// Without values, too, a job continues from its commits.
TEST_F(LongInPlaceNeeded, OfModelledMathematicsContinueFromCommits) {
  constexpr int rounds = 400;
  succeeds("run " + needed(rounds, "--set workload.math=modelled", workers_stay) + " --out out");
  const Results out = results("out");
  ASSERT_EQ(ends_of_generations(out).size(), 2U);
  EXPECT_GT(last_restart(out), 0);
  expect_each_step_once("out");
  EXPECT_EQ(out.summary.rounds, rounds);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
