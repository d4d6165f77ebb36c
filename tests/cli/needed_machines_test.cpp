// Simulated jobs in which machines without workers depart (those of servers, of the steward): all starts
// again from the last commit, also where workers recover in place. Against closed forms: rounds of one
// second.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cli/second_steps.hpp"
#include "validation/compare/gates.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class NeededMachines : public SecondSteps {
 protected:
  inline static const std::string every_fourth_round =
      "checkpoint: {policy: fixed, options: {interval: 4}}\n";
  /// Workers on a and b, and a host s whose machines have this lifetime. The network takes next to no time.
  std::string job(const std::string& lifetime, const std::string& settings = "",
                  const std::string& commits = every_fourth_round) const {
    const std::string property =
        lifetime.empty() ? "" : "<prop id='tandem:lifetime' value='" + lifetime + "'/>";
    return steps_of_a_second(
        "<host id='a' speed='1Tf'/><host id='b' speed='1Tf'/><host id='s' speed='100000Tf'>" + property +
            "</host>" + links_of_three("100000GBps"),
        "placement: {workers: [a, b], servers: [s]}\n"
        "sync: {algorithm: bsp, over: server}\n"
        "physics: {ensemble: 0}\n"
        "transience: {lifetime: fixed, detect: 2s, start: 3s}\n"
        "recovery: {restarts: 1000}\n" +
            commits,
        settings);
  }
  /// Of the host's first machines, in the slot after those of two workers; later ones stay.
  static std::string lives(const std::string& times) { return "fixed times=1e9;1e9;" + times + ",1e9"; }
  double round_s(const std::string& settings) const {
    return makespan(simulate(job("", settings), "stays")) / 12;
  }
};
using LongNeededMachines = NeededMachines;

/// The mode of recovery and the route; the steps that a worker may take beyond the last round; what runs on
/// s.
class NeededRoutes : public NeededMachines,
                     public ::testing::WithParamInterface<std::tuple<std::string, int, std::string>> {};

TEST_P(NeededRoutes, TakeTheTimeOfTheHandComputation) {
  const auto& [settings, slack, roles] = GetParam();
  constexpr int per_round = 2;
  const double round = round_s(settings);
  // A step of a second, and the arithmetic on 50 MB.
  EXPECT_NEAR(round, 1.0, slack > 0 ? 0.15 : 0.05);
  const std::string words = job(lives("6.5,5.25"), settings + " --decisions");
  const std::string told = succeeds("simulate " + words + " --out out");
  const Results all = results("out");
  // Rounds 1 to 4 are committed when the first machine departs, 5 to 8 when the second does.
  const double second = 6.5 + 5, third = second + 5.25 + 5;
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4, 8}));
  EXPECT_NEAR(makespan(all), third + 4 * round, 0.02 + slack);
  EXPECT_EQ(all.info.generations[1].began.value().count(), second);
  EXPECT_EQ(all.info.generations[2].began.value().count(), third);
  EXPECT_EQ(all.info.generations[0].ended, "the machine of the " + roles + " on 's' departed (revoked)");
  // Rounds 5 and 6, and round 9.
  EXPECT_EQ(all.info.generations[0].lost_samples, 2 * per_round);
  EXPECT_EQ(all.info.generations[1].lost_samples, 1 * per_round);
  EXPECT_GE(all.summary.samples, 12 * per_round);
  EXPECT_LE(all.summary.samples, 12 * per_round + slack);
  EXPECT_EQ(all.summary.applied_samples, all.summary.samples);
  EXPECT_EQ(all.summary.membership.value().departures, 0) << "of workers";
  EXPECT_EQ(all.summary.membership.value().other_departures, 2);
  EXPECT_EQ(rounds_of_commits(all.journal), (Rounds{4, 8, 12}));
  EXPECT_EQ(events_of(all, -1), replaced(2));
  expect_in("started again 2 times after departures of machines, at last from round 8", told);
  expect_not_in("the lifetime of host", told);
  if (all.info.experiment.recovery.mode == RecoveryMode::in_place)
    expect_samples_add_up(all.info, all.journal);
  // Fresh policies decide on the recorded events as recorded, at least once for each step.
  const auto replayed = validation::replay(all, {});
  EXPECT_EQ(replayed.state, validation::Gate::State::passed) << replayed.detail;
  EXPECT_GE(replayed.checked, std::ssize(all.journal.steps));
}

INSTANTIATE_TEST_SUITE_P(InPlace, NeededRoutes, ::testing::Values(std::tuple("", 0, "server and steward")));
INSTANTIATE_TEST_SUITE_P(
    LongOthers, NeededRoutes,
    ::testing::Values(std::tuple("--set sync.algorithm=asp", 1, "server and steward"),
                      std::tuple("--set sync.over=all-reduce --set sync.collective=ring", 0, "steward"),
                      std::tuple("--set recovery.mode=restart --set recovery.policy=restart", 0, "server")));

/// The worker on b is replaced while the job waits for the server's machine: it joins on the job's clock.
TEST_F(NeededMachines, LivesOfWorkersGoOnMeanwhile) {
  const Results all =
      simulate(job(lives("6.5"), "--set 'transience.options.times=1e9;8,1e9' --set stop.rounds=20"), "out");
  ASSERT_EQ(rounds_of_generations(all), (Rounds{0, 4}));
  EXPECT_EQ(all.info.generations[1].began.value().count(), 11.5);
  std::vector<std::pair<std::string, double>> of_worker;
  std::int64_t view = 0;
  for (const auto& change : all.journal.membership) {
    EXPECT_GE(change.view, change.event == "gone" ? 0 : view) << "in the order of time";
    view = std::max(view, change.view);
    if (change.slot == 1 && change.event != "gone") of_worker.emplace_back(change.event, change.time.count());
  }
  const std::vector<std::pair<std::string, double>> expected = {
      {"joined", 0}, {"departed", 8}, {"noticed", 10}, {"requested", 10}, {"ready", 13}, {"joined", 13}};
  ASSERT_EQ(of_worker.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(of_worker[i].first, expected[i].first);
    EXPECT_NEAR(of_worker[i].second, expected[i].second, 1e-6) << expected[i].first;
  }
  for (const auto& step : all.journal.steps) {
    const double start = step.start.count();
    EXPECT_TRUE(start < 4.1 || start >= 11.5) << start;
    if (step.rank == 1) {
      EXPECT_TRUE(start < 4.1 || start >= 13) << start;
    }
  }
  EXPECT_EQ(all.summary.membership.value().departures, 1);
  EXPECT_EQ(all.summary.rounds, 20);
  expect_samples_add_up(all.info, all.journal);
  // Two workers lost rounds 5 and 6.
  EXPECT_EQ(all.summary.membership.value().done_again_samples, 4);
}

/// With the server's machine its disk is lost.
TEST_F(NeededMachines, TakeTheirCommitsAlong) {
  const std::string words = job(lives("6.5"), "--set checkpoint.to=local");
  const std::string told = succeeds("simulate " + words + " --out out");
  expect_in("when the machine of 's' departs, it takes a part of every commit along", told);
  const Results all = results("out");
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 0}));
  EXPECT_EQ(all.info.generations[0].lost_commit, 4);
  EXPECT_NEAR(makespan(all), 11.5 + 12 * round_s(""), 0.02);
}

/// A launch takes time, in which the next machine may depart, too.
TEST_F(LongNeededMachines, MayDepartDuringALaunch) {
  const Results all = simulate(job(lives("6.5,1.5"), "--set recovery.launch=2"), "out");
  EXPECT_EQ(rounds_of_generations(all), (Rounds{0, 4, 4}));
  EXPECT_FALSE(all.info.generations[1].began);
  EXPECT_NEAR(makespan(all), 11.5 + 1.5 + 5 + 2 + 8 * round_s(""), 0.02);
}

/// Nothing of it is there if the machines stay, or if nothing is committed in place.
TEST_F(NeededMachines, StayWithoutALifetimeOrCommits) {
  const double whole = makespan(simulate(job(""), "none"));
  for (const auto& [name, lifetime, commits] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"never", "never", every_fourth_round},
           {"long", lives("1e8"), every_fourth_round},
           {"without", lives("6.5"), ""}}) {
    SCOPED_TRACE(name);
    const std::string told = succeeds("simulate " + job(lifetime, "", commits) + " --out " + name);
    const Results all = results(name);
    EXPECT_TRUE(all.info.generations.empty());
    EXPECT_NEAR(makespan(all), whole, 1e-9);
    EXPECT_EQ(told.find("the lifetime of host 's' has no effect: only machines of workers depart") !=
                  std::string::npos,
              name == "without")
        << told;
  }
}

TEST_F(LongNeededMachines, OfRealMathematicsEndWithTheSameModel) {
  for (const char* route :
       {"--set optimizer.momentum=0.9", "--set sync.algorithm=d-psgd --set sync.over=peers"}) {
    SCOPED_TRACE(route);
    const std::string words = experiment(40,
                                         "--force --set checkpoint.policy=fixed --set "
                                         "checkpoint.options.interval=5 --set transience.lifetime=fixed ") +
                              route;
    const double departs_s = 0.6 * makespan(simulate(words, "whole"));
    const std::string lab =
        edited_lab(line_, {property_of("server", "tandem:lifetime",
                                       fmt::format("fixed times=1e9;1e9;1e9;1e9;{},1e9", departs_s))});
    const Results all = simulate(words + " --set platform=" + lab, "out");
    ASSERT_EQ(all.info.generations.size(), 2U);
    EXPECT_GT(all.info.generations[1].round, 0);
    const auto& membership = all.summary.membership.value();
    EXPECT_GT(all.info.generations[0].lost_samples, 0);
    EXPECT_EQ(membership.done_again_samples, all.info.generations[0].lost_samples);
    EXPECT_EQ(membership.lost_samples, 0);
    expect_same_records("whole", "out", 0);
  }
}

struct Refused {
  std::string lifetime;
  std::string settings;
  int exit_code;
  std::string why;
};

TEST_F(NeededMachines, ImpossibleJobsAreRefused) {
  for (const Refused& refused :
       {Refused{"weibull size=2", "", 2, "platform.xml: host 's', property tandem:lifetime: "},
        Refused{lives("5"), "--set stop.seconds=9", 2,
                "'stop.seconds': expected stop.rounds or stop.epochs, because the machine of the server and "
                "steward on 's' may depart"},
        Refused{lives("5"), "--fidelity smpi", 2, "does not start jobs again"},
        Refused{"trace events=5 remove n", "", 2, "expected OPTION=VALUE after 'trace', found 'remove'"},
        Refused{lives("2.5,2.5,2.5"), "--set recovery.restarts=2", 70,
                "does not start again after 2 restarts (recovery.restarts)"}}) {
    SCOPED_TRACE(refused.lifetime + ' ' + refused.settings);
    refuses("simulate " + job(refused.lifetime, refused.settings) + " --out out", refused.why,
            refused.exit_code);
    EXPECT_EQ(std::filesystem::exists(line_.folder() / "out"), refused.exit_code == 70);
    std::filesystem::remove_all(line_.folder() / "out");
  }
}

TEST_F(NeededMachines, GiveUpWhenNoMachineCanBeHad) {
  refuses("simulate " + job("states off=6.5") + " --out out",
          "the job gives up: no machine can be had any more for the server and steward on 's' "
          "(tandem:lifetime)",
          70);
  EXPECT_EQ(line_.shell("cut -d, -f2,4,5 out/membership.csv | grep '^-1,s,' | paste -sd ' '").output,
            "-1,s,joined -1,s,departed -1,s,noticed -1,s,requested -1,s,refused\n");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
