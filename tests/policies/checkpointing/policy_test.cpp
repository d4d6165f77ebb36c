// The rule of each checkpointing policy, on exact sequences of events and in random jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "policies/checkpointing/age_aware.hpp"
#include "policies/checkpointing/interval.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/policies/checkpointing/job_run.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::checkpointing {
namespace TANDEM_FILE {

using testing::CheckpointOptions;
using testing::JobRun;
using testing::JobTraits;
using testing::make_checkpointing;

constexpr Seconds hour(3600.0);

JobRun run_of(Policy& policy, const JobTraits& traits, std::uint64_t seed) {
  return {[&](const Event& event) { return decide(policy, event); }, traits, seed};
}

std::vector<std::string> events_of(const JobRun& run) {
  std::vector<std::string> events;
  for (const auto& line : run.log()) events.push_back(line.event);
  return events;
}

/// The seconds of the only decision.
double seconds_of(const Decisions& decisions) {
  if (decisions.size() != 1 || !std::holds_alternative<NextCommitInSeconds>(decisions[0])) {
    ADD_FAILURE() << to_text(decisions);
    return 0.0;
  }
  return std::get<NextCommitInSeconds>(decisions[0]).work.count();
}

// ---- fixed, young, daly, optimal ----

TEST(Optimal, DecidesAsFixedAtTheSameInterval) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    const double mtbf = 900.0, cost = 2.0;
    const auto optimal = make_checkpointing("optimal", {{"mtbf_s", mtbf}, {"cost_s", cost}});
    JobRun run = run_of(*optimal, {.machines = 4, .loss = 0.02, .commit_failure = 0.1}, seed);
    run.run_rounds(500);
    EXPECT_GT(run.commits(), 5);
    const double interval = optimal_interval(Seconds(cost), Seconds(mtbf) / 4.0).count();
    const auto fixed = make_checkpointing("fixed", {{"interval", interval}, {"unit", "seconds"}});
    EXPECT_EQ(replay(*fixed, events_of(run)), run.log());
  }
}

TEST(Intervals, FollowTheClosedForms) {
  const CheckpointOptions given = {{"mtbf_s", 7200.0}, {"cost_s", 600.0}};
  const auto first = [&](const std::string& name) {
    const auto policy = make_checkpointing(name, given);
    for (int slot = 0; slot < 2; ++slot) EXPECT_EQ(decide(*policy, Ready{Seconds(), slot, 1}), Decisions());
    return seconds_of(decide(*policy, Started{Seconds(), 0}));
  };
  EXPECT_NEAR(first("optimal"), 1699.23, 5e-3);
  EXPECT_NEAR(first("young"), 2078.46, 5e-3);
  EXPECT_NEAR(first("daly"), 1697.71, 5e-3);
}

TEST(Intervals, WithoutMachinesAreThoseOfOne) {
  const auto policy = make_checkpointing("young", {{"mtbf_s", 3600.0}, {"cost_s", 10.0}});
  EXPECT_NEAR(seconds_of(decide(*policy, Started{Seconds(), 0})), 268.328, 5e-4);
}

TEST(Intervals, UseTheMeanOfTheMeasuredCommits) {
  const auto policy = make_checkpointing("optimal", {{"mtbf_s", 3600.0}});
  decide(*policy, Ready{Seconds(), 0, 1});
  EXPECT_EQ(decide(*policy, Started{Seconds(), 0}), Decisions{NextCommitInRounds{1}})
      << "the first commit shows the cost";
  double sum = 0.0;
  int commits = 0;
  for (const double cost : {4.0, 8.0, 30.0}) {
    sum += cost;
    ++commits;
    const double found = seconds_of(decide(*policy, Committed{Seconds(100.0 * commits), 1, Seconds(cost)}));
    EXPECT_DOUBLE_EQ(found, optimal_interval(Seconds(sum / commits), hour).count());
  }
  decide(*policy, CommitFailed{Seconds(500.0)});
  EXPECT_DOUBLE_EQ(seconds_of(decide(*policy, Started{Seconds(600.0), 1})),
                   optimal_interval(Seconds(sum / commits), hour).count())
      << "a failed commit has no measured cost";
}

TEST(Intervals, LearnTheFailureRateOfAMachine) {
  const auto policy =
      make_checkpointing("optimal", {{"cost_s", 10.0}, {"prior_failures", 2.0}, {"prior_hours", 6.0}});
  const auto expect = [&](double now_h, double failures, double hours, double machines) {
    const Seconds mtbf = hour * ((6.0 + hours) / (2.0 + failures) / machines);
    EXPECT_NEAR(seconds_of(decide(*policy, Committed{hour * now_h, 1, Seconds(10.0)})),
                optimal_interval(Seconds(10.0), mtbf).count(), 1e-9);
  };
  decide(*policy, Ready{Seconds(), 0, 1});
  expect(0.0, 0.0, 0.0, 1.0);
  decide(*policy, Ready{hour, 1, 1});
  decide(*policy, Ready{hour, 2, 1, hour * 50.0});  // its life before is not part of the job
  expect(2.0, 0.0, 4.0, 3.0);
  decide(*policy, Departed{hour * 3.0, 2, 1, Departure::lost});
  expect(3.0, 1.0, 7.0, 2.0);
  decide(*policy, Departed{hour * 4.0, 1, 1, Departure::left});  // of its own accord
  expect(5.0, 1.0, 10.0, 1.0);
  decide(*policy, Departed{hour * 5.0, 1, 1, Departure::lost});  // has left already
  decide(*policy, Departed{hour * 5.0, 0, 7, Departure::lost});  // another occupant
  expect(5.0, 1.0, 10.0, 1.0);
  decide(*policy, Ready{hour * 5.0, 1, 2});
  decide(*policy, Ready{hour * 5.0, 1, 1});  // late news of an older occupant
  decide(*policy, Warned{hour * 6.0, 1, Seconds(30.0)});
  decide(*policy, Departed{hour * 6.0, 1, 2, Departure::revoked});
  expect(6.0, 2.0, 12.0, 1.0);
  decide(*policy, Ready{hour * 7.0, 0, 2});  // the departure of its predecessor is not known
  expect(8.0, 2.0, 14.0, 1.0);
}

TEST(Intervals, AnnouncedDeparturesWithACommitAreNoFailures) {
  for (const bool reacts : {false, true}) {
    const auto policy = make_checkpointing("optimal", {{"cost_s", 10.0}, {"on_warning", reacts}});
    for (int slot = 0; slot < 2; ++slot) decide(*policy, Ready{Seconds(), slot, 1});
    EXPECT_EQ(decide(*policy, Warned{hour, 0, Seconds(60.0)}), Decisions());
    EXPECT_EQ(decide(*policy, RoundDone{hour, 5, 2, Seconds(60.0)}),
              reacts ? Decisions{CommitNow{}} : Decisions());
    decide(*policy, Committed{hour, 5, Seconds(10.0)});
    decide(*policy, Departed{hour, 0, 1, Departure::revoked});
    const double failures = reacts ? 0.0 : 1.0;
    EXPECT_NEAR(seconds_of(decide(*policy, Committed{hour, 5, Seconds(10.0)})),
                optimal_interval(Seconds(10.0), hour * (26.0 / (1.0 + failures))).count(), 1e-9);
  }
}

/// With a notice that leaves room for more commits, the work since this one is lost.
TEST(Intervals, ACommitEarlyInTheNoticeDoesNotSaveAll) {
  const auto policy = make_checkpointing("optimal", {{"cost_s", 10.0}, {"on_warning", true}});
  for (int slot = 0; slot < 2; ++slot) decide(*policy, Ready{Seconds(), slot, 1});
  decide(*policy, RoundDone{hour, 5, 2, Seconds(60.0)});
  decide(*policy, Warned{hour, 0, Seconds(600.0)});
  decide(*policy, Committed{hour, 5, Seconds(10.0)});
  decide(*policy, Departed{hour, 0, 1, Departure::revoked});
  EXPECT_NEAR(seconds_of(decide(*policy, Committed{hour, 5, Seconds(10.0)})),
              optimal_interval(Seconds(10.0), hour * (26.0 / 2.0)).count(), 1e-9);
}

TEST(Intervals, FailedCommitsAreTriedAgainEverMoreRarely) {
  for (const char* name : {"fixed", "optimal"}) {
    const auto policy = make_checkpointing(name, {});
    decide(*policy, Started{Seconds(), 0});
    for (const std::int64_t rounds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024})
      EXPECT_EQ(decide(*policy, CommitFailed{Seconds(1.0)}), Decisions{NextCommitInRounds{rounds}});
    decide(*policy, Committed{Seconds(2.0), 1, Seconds(1.0)});
    EXPECT_EQ(decide(*policy, CommitFailed{Seconds(3.0)}), Decisions{NextCommitInRounds{1}});
  }
}

// ---- hazard ----

TEST(Hazard, WithAConstantRateIsOptimal) {
  for (const double cost : {1.0, 10.0, 600.0}) {
    const auto hazard = make_checkpointing("hazard", {{"scale_s", 3600.0}, {"cost_s", cost}});
    const auto optimal = make_checkpointing("optimal", {{"mtbf_s", 3600.0}, {"cost_s", cost}});
    for (const auto& policy : {hazard.get(), optimal.get()})
      for (int slot = 0; slot < 3; ++slot) decide(*policy, Ready{Seconds(), slot, 1, Seconds(slot * 1000.0)});
    EXPECT_NEAR(seconds_of(decide(*hazard, Started{Seconds(50.0), 0})) /
                    seconds_of(decide(*optimal, Started{Seconds(50.0), 0})),
                1.0, 0.01);
  }
}

TEST(Hazard, IntervalsGrowWhileMachinesAgeAndShrinkWithANewOne) {
  const auto policy = make_checkpointing("hazard", {{"shape", 0.5}, {"scale_s", 36000.0}, {"cost_s", 10.0}});
  for (int slot = 0; slot < 3; ++slot) decide(*policy, Ready{Seconds(), slot, 1});
  double last = seconds_of(decide(*policy, Started{Seconds(), 0}));
  for (Seconds now(100.0); now < Seconds(1e6); now = now * 3.0) {
    const double found = seconds_of(decide(*policy, Committed{now, 1, Seconds(10.0)}));
    EXPECT_GT(found, last);
    last = found;
  }
  decide(*policy, Departed{Seconds(1e6), 1, 1, Departure::lost});
  decide(*policy, Ready{Seconds(1e6), 1, 2});
  EXPECT_LT(seconds_of(decide(*policy, Started{Seconds(1e6), 1})), last / 2.0);
}

TEST(Hazard, TakesAnyModelOfLifetimes) {
  const auto& entry = catalog().find("hazard");
  const CumulativeHazard wall = [](double age) {
    return age < 5000.0 ? age * 1e-7 : std::numeric_limits<double>::infinity();
  };
  const auto policy = entry.make(
      {.options = Options::resolve("hazard", entry.options, {{"cost_s", 10.0}}), .hazards = {wall}});
  decide(*policy, Ready{Seconds(), 0, 1, Seconds(4000.0)});
  const double found = seconds_of(decide(*policy, Started{Seconds(100.0), 0}));
  EXPECT_GT(found, 880.0);
  EXPECT_LE(found, 890.0) << "before the limit of lifetimes";
  const auto never = entry.make({.options = Options::resolve("hazard", entry.options, {{"cost_s", 10.0}}),
                                 .hazards = {[](double) { return 0.0; }}});
  EXPECT_EQ(decide(*never, Started{Seconds(), 0}), Decisions());
}

// ---- on-warning ----

Decisions end_round(Policy& policy, double now_s, double duration_s) {
  return decide(policy, RoundDone{Seconds(now_s), 1, 1, Seconds(duration_s)});
}

TEST(OnWarning, CommitsIffItFits) {
  for (const double notice : {0.0, 10.0, 12.49, 12.5, 16.9, 17.91, 30.0}) {
    const auto policy = make_checkpointing("on-warning", {{"cost_s", 10.0}});
    decide(*policy, Ready{Seconds(), 0, 1});
    EXPECT_EQ(decide(*policy, Started{Seconds(), 0}), Decisions());
    EXPECT_EQ(end_round(*policy, 4.0, 4.0), Decisions());
    EXPECT_EQ(decide(*policy, Warned{Seconds(5.5), 0, Seconds(notice)}), Decisions());
    // 2.5 s of the notice have passed. Another round and a commit take 15.4 s with the margin.
    EXPECT_EQ(end_round(*policy, 8.0, 4.0),
              notice >= 12.5 && notice < 17.9 ? Decisions{CommitNow{}} : Decisions())
        << notice;
  }
}

TEST(OnWarning, UsesTheMeasuredCost) {
  const auto policy = make_checkpointing("on-warning", {});
  for (int slot = 0; slot < 3; ++slot) decide(*policy, Ready{Seconds(), slot, 1});
  decide(*policy, Started{Seconds(), 0});
  decide(*policy, Warned{Seconds(1.0), 0, Seconds(3.0)});
  EXPECT_EQ(end_round(*policy, 2.0, 2.0), Decisions{CommitNow{}}) << "of unknown cost: it is tried";
  decide(*policy, Warned{Seconds(2.0), 1, Seconds(2.0)});
  EXPECT_EQ(end_round(*policy, 3.0, 1.0), Decisions()) << "one is requested";
  EXPECT_EQ(decide(*policy, Committed{Seconds(7.0), 1, Seconds(2.0), Seconds(5.0)}), Decisions());
  decide(*policy, Warned{Seconds(8.0), 2, Seconds(5.9)});
  EXPECT_EQ(end_round(*policy, 9.0, 2.0), Decisions())
      << "it is complete after 5 s, though it blocks for 2 s";
  decide(*policy, Warned{Seconds(9.0), 2, Seconds(7.0)});
  EXPECT_EQ(end_round(*policy, 11.0, 2.0), Decisions{CommitNow{}});
}

/// The closed form: rounds and commits of constant time, a departure at any time. If the notice is as long as
/// a round and a commit, less than a round is between the end of the last commit and the departure.
TEST(OnWarning, LosesLessThanARound) {
  for (const auto seed : testing::seeds(200)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "departure");
    const double round = 0.1 + random.uniform(), commit = 3.0 * random.uniform();
    const double notice = round + commit + 20.0 * random.uniform() * random.uniform();
    const double warned = 5.0 * random.uniform(), departs = warned + notice;
    const double margin = random.below(2) == 0 ? 0.0 : 0.2;
    const auto policy = make_checkpointing("on-warning", {{"cost_s", commit}, {"margin", margin}});
    decide(*policy, Ready{Seconds(), 0, 1});
    decide(*policy, Started{Seconds(), 0});
    double committed = 0.0;
    std::int64_t done = 0;
    bool is_warned = false;
    for (double now = round; now <= departs; now += round) {
      if (now >= warned && !std::exchange(is_warned, true))
        decide(*policy, Warned{Seconds(now), 0, Seconds(departs - now)});
      if (decide(*policy, RoundDone{Seconds(now), ++done, 1, Seconds(round)}).empty()) continue;
      now += commit;
      EXPECT_EQ(committed, 0.0) << "one commit is enough";
      EXPECT_LE(now, departs) << "the commit is too late";
      committed = now;
      decide(*policy, Committed{Seconds(now), done, Seconds(commit)});
    }
    EXPECT_LE(departs - committed, round + margin * (round + commit) + 1e-9)
        << "round " << round << ", commit " << commit << ", notice " << notice;
    if (HasFailure()) return;
  }
}

/// Rounds of random time: the commit is complete before the departure, but for one in fifty.
TEST(OnWarning, IsCautiousWhereRoundsVary) {
  int late = 0, rounds_lost = 0;
  constexpr int jobs = 500;
  for (int seed = 1; seed <= jobs; ++seed) {
    Rng random = Rng::stream(static_cast<std::uint64_t>(seed), "rounds");
    const auto policy = make_checkpointing("on-warning", {{"cost_s", 0.5}});
    decide(*policy, Ready{Seconds(), 0, 1});
    decide(*policy, Started{Seconds(), 0});
    double now = 0.0;
    const auto next_round = [&] {
      const double duration = 0.9 + 0.2 * random.uniform();
      now += duration;
      return decide(*policy, RoundDone{Seconds(now), 1, 1, Seconds(duration)});
    };
    for (int i = 0; i < 12; ++i) EXPECT_EQ(next_round(), Decisions());
    const double departs = now + 10.0 + 10.0 * random.uniform();
    decide(*policy, Warned{Seconds(now), 0, Seconds(departs - now)});
    while (now < departs && next_round().empty()) continue;
    now += 0.4 + 0.2 * random.uniform();
    if (now > departs) ++late;
    rounds_lost += std::max(0, static_cast<int>(departs - now));
  }
  EXPECT_LE(late, jobs / 50);
  EXPECT_LE(rounds_lost, jobs / 2);
}

TEST(OnWarning, NothingElseCausesACommit) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    const auto policy = make_checkpointing("on-warning", {});
    JobRun quiet = run_of(*policy, {.loss = 0.05}, seed);
    quiet.run_rounds(300);
    EXPECT_EQ(quiet.commits(), 0);
    const auto other = make_checkpointing("on-warning", {{"cost_s", 2.0}});
    JobRun warned = run_of(*other, {.commit_s = 1.0, .warning = 0.05, .notice_s = 20.0}, seed);
    warned.run_rounds(300);
    EXPECT_GT(warned.commits(), 0);
    EXPECT_EQ(warned.commits(), warned.commits_now());
  }
}

// ---- budget ----

TEST(Budget, IsTheHighestFrequencyWithinTheShare) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "budget");
    const double share = 0.01 + 0.2 * random.uniform(), cost = 0.5 + 3.0 * random.uniform();
    const auto policy = make_checkpointing("budget", {{"share", share}, {"cost_s", cost}});
    JobRun run = run_of(*policy, {.commit_s = cost, .constant_commits = true}, seed);
    run.before_commit = [&] {
      const double then = run.spent().count() + cost;
      EXPECT_LE(then, share * run.work().count() * (1.0 + 1e-9));
      EXPECT_GT(then, share * (run.work() - run.last_round()).count() * (1.0 - 1e-9)) << "a round too late";
    };
    run.run_rounds(3000);
    EXPECT_GT(run.commits(), 5);
    if (HasFailure()) return;
  }
}

TEST(Budget, KeepsItsShareWithRandomCosts) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    const auto policy = make_checkpointing("budget", {{"share", 0.05}});
    JobRun run = run_of(*policy, {.commit_s = 2.0}, seed);
    run.run_rounds(4000);
    EXPECT_LE(run.spent() / run.work(), 0.05 * 1.02);
    EXPECT_GE(run.spent() / run.work(), 0.05 * 0.95);
  }
}

TEST(Budget, KeepsItsShareIfCommitsFail) {
  const auto policy = make_checkpointing("budget", {{"share", 0.05}, {"cost_s", 1.0}});
  JobRun run = run_of(*policy, {.commit_s = 1.0, .constant_commits = true, .commit_failure = 0.5}, 3);
  int tried = 0;
  run.before_commit = [&] { EXPECT_LE(++tried, 0.05 * run.work().count() * (1.0 + 1e-9)); };
  run.run_rounds(4000);
  EXPECT_GT(tried, 150);
  EXPECT_LT(run.commits(), tried);
}

// ---- options ----

struct BadOption {
  std::string policy;
  CheckpointOptions options;
  std::string message;
};

TEST(Options, BadOnesAreRefused) {
  const double infinite = std::numeric_limits<double>::infinity();
  const BadOption cases[] = {
      {"fixed", {{"interval", -5.0}}, "option 'interval': expected number >= 0.001 and <= 1e+12, found '-5'"},
      {"fixed", {{"interval", 0.0}}, "option 'interval': expected number >= 0.001 and <= 1e+12, found '0'"},
      {"fixed", {{"interval", infinite}}, "expected number >= 0.001 and <= 1e+12, found 'inf'"},
      {"fixed", {{"interval", 2.5}}, "option 'interval': expected a whole number of rounds, found '2.5'"},
      {"fixed", {{"interval", 0.5}}, "option 'interval': expected a whole number of rounds, found '0.5'"},
      {"fixed", {{"unit", "hours"}}, "option 'unit': expected rounds | seconds, found 'hours'"},
      {"fixed", {{"intervall", 5.0}}, "unknown option 'intervall'; did you mean 'interval'?"},
      {"young", {{"cost_s", -1.0}}, "option 'cost_s': expected number >= 0 and <= 1e+12, found '-1'"},
      {"daly", {{"cost_s", infinite}}, "option 'cost_s': expected number >= 0 and <= 1e+12, found 'inf'"},
      {"optimal", {{"mtbf_s", -1.0}}, "option 'mtbf_s': expected number >= 0 and <= 1e+12, found '-1'"},
      {"optimal", {{"mtbf_s", infinite}}, "option 'mtbf_s': expected number >= 0 and <= 1e+12, found 'inf'"},
      {"optimal",
       {{"mtbf_s", std::nan("")}},
       "option 'mtbf_s': expected number >= 0 and <= 1e+12, found 'nan'"},
      {"optimal", {{"prior_hours", 0.0}}, "option 'prior_hours': expected number >= 1e-06 and <= 1e+06"},
      {"optimal",
       {{"prior_failures", 0.0}},
       "option 'prior_failures': expected number >= 1e-06 and <= 1e+06"},
      {"optimal", {{"share", 0.1}}, "unknown option 'share'"},
      {"hazard", {{"shape", 0.0}}, "option 'shape': expected number >= 0.1 and <= 10, found '0'"},
      {"hazard", {{"scale_s", -1.0}}, "option 'scale_s': expected number >= 0 and <= 1e+12, found '-1'"},
      {"on-warning", {{"on_warning", true}}, "unknown option 'on_warning'"},
      {"budget", {{"share", 0.0}}, "option 'share': expected number >= 1e-06 and <= 1, found '0'"},
      {"budget", {{"share", 1.5}}, "option 'share': expected number >= 1e-06 and <= 1, found '1.5'"},
      {"budget", {{"on_warning", 1.0}}, "option 'on_warning': expected true | false, found '1'"}};
  for (const auto& [policy, options, message] : cases) {
    try {
      make_checkpointing(policy, options);
      ADD_FAILURE() << "accepted: " << message;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(policy + ": "), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

TEST(CheckpointingCatalogue, NamesThePoliciesAndTheNearestName) {
  EXPECT_EQ(catalog().names(), (std::vector<std::string>{"fixed", "young", "daly", "optimal", "hazard",
                                                         "on-warning", "budget"}));
  try {
    catalog().find("yuong");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("unknown checkpointing policy 'yuong'; did you mean 'young'?"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::checkpointing
