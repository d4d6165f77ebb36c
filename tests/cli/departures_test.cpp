// `tandem run` with machines that depart: ranks of a real mpirun lose and get workers as in the simulation.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/cli/resume_jobs.hpp"
#include "tests/support/membership_checks.hpp"
#include "tests/support/paths.hpp"
#include "validation/compare/members.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// Machines live for a second on average, and a new one takes a fifth of a second.
const std::string transient =
    "--set transience.lifetime=exponential --set transience.options.mean=100 --set transience.start=20 "
    "--set transience.time_scale=100 ";

class DepartureJobs : public ResumeJobs, public ::testing::WithParamInterface<std::string> {
 protected:
  /// In the order of time.
  static std::vector<Fate> departures(const Results& results) {
    auto all = fates(results.journal);
    std::erase_if(all, [](const Fate& fate) { return std::get<2>(fate) != "departed"; });
    return all;
  }
  /// The first incarnations' fates do not depend on when others come.
  static std::vector<Fate> first_departures(const Results& results) {
    auto all = departures(results);
    std::erase_if(all, [](const Fate& fate) { return std::get<1>(fate) > 1; });
    return all;
  }
  static void expect_sound(const Results& results) {
    EXPECT_GE(departures(results).size(), 2U);
    const SampleCounts samples = expect_samples_add_up(results.info, results.journal);
    if (const auto& roles = results.info.roles; std::ranges::find(roles, "server") != roles.end()) {
      EXPECT_EQ(arrived_samples(results), *samples.applied + samples.dropped + *samples.pending);
    }
  }
  /// Of the pushes that the first server has received, by its policy's events.
  static std::int64_t arrived_samples(const Results& results) {
    const auto& roles = results.info.roles;
    const auto server = std::ranges::find(roles, "server") - roles.begin();
    std::int64_t samples = 0;
    for (const auto& record : results.journal.decisions) {
      if (record.rank != server || record.side != "server") continue;
      const auto event = sync::parse_server_event(record.event);
      if (const auto* push = std::get_if<sync::Push>(&event)) samples += push->samples;
    }
    return samples;
  }
  static void expect_same_as_itself(const Results& results) {
    const auto members = validation::compare_members(results, {results});
    ASSERT_TRUE(members);
    EXPECT_TRUE(members->differences.empty());
    EXPECT_EQ(members->departures.simulated, static_cast<double>(departures(results).size()));
    EXPECT_EQ(members->largest_shift(), 0.0);
    EXPECT_EQ(members->lost_per_departure(), 0.0);
  }
  /// Whether errors are within the tolerance depends on the load of this machine.
  void expect_pages() const {
    const auto compared = line_.tandem("compare simulated measured --out comparison --trace both.json");
    EXPECT_LE(compared.exit_code, 1) << compared.output;
    expect_in("Departures and arrivals of machines", compared.output);
    EXPECT_NE(contents("comparison/report.html").find("\"stays\":"), std::string::npos);
    EXPECT_NE(contents("both.json").find("machine 1 departed (revoked)"), std::string::npos);
    succeeds("view .");
    EXPECT_NE(contents("index.html").find("simulated: "), std::string::npos);
    EXPECT_NE(contents("index.html").find("\"text\":\"Membership\""), std::string::npos);
  }
  static std::int64_t decisions_on_departures(const Results& results) {
    return std::ranges::count(results.journal.decisions, "recovery", &DecisionRecord::side);
  }
};

TEST_P(DepartureJobs, LoseTheSameMachinesInBothWorlds) {
  const std::string job = experiment(150, transient + GetParam());
  succeeds("simulate " + job + " --decisions --out simulated");
  succeeds("run " + job + " --decisions --out measured");
  const Results simulated = results("simulated"), measured = results("measured");
  expect_sound(simulated);
  expect_sound(measured);
  auto expected = first_departures(simulated), found = first_departures(measured);
  const std::size_t both = std::min(expected.size(), found.size());
  expected.resize(both);
  found.resize(both);
  EXPECT_EQ(expected, found);
  expect_replayed(simulated, measured);
  EXPECT_GE(decisions_on_departures(simulated), 3);
  EXPECT_GE(decisions_on_departures(measured), 3);
  expect_same_as_itself(simulated);
  expect_same_as_itself(measured);
  expect_pages();
}

INSTANTIATE_TEST_SUITE_P(Bsp, DepartureJobs, ::testing::Values("--set physics.ensemble=0"));
INSTANTIATE_TEST_SUITE_P(LongOthers, DepartureJobs,
                         ::testing::Values("--set workload.math=modelled --set evaluate_every=0 --set "
                                           "placement.servers=[server,node-4] --set physics.ensemble=0",
                                           "--set sync.algorithm=local-sgd --set physics.ensemble=0"));

/// A sampler whose workers take their parts of common lists; shuffled ones: from cache nodes, below.
INSTANTIATE_TEST_SUITE_P(LongCommonLists, DepartureJobs,
                         ::testing::Values("--set data.sampling=replacement --set sync.algorithm=asp "
                                           "--set physics.ensemble=0"));

/// Workers read their samples through cache nodes, which stay.
const std::string stored =
    "--set data.source=storage --set placement.cache_nodes=[server,server] --set data.cache_capacity=50kB "
    "--set "
    "data.prefetch=2 --set physics.ensemble=0 ";
INSTANTIATE_TEST_SUITE_P(LongFromCacheNodes, DepartureJobs,
                         ::testing::Values(stored + "--set data.sampling=shuffled --set sync.algorithm=asp",
                                           stored + "--set data.cache=minio --set data.peers=partition --set "
                                                    "placement.stores=[server]"));

class LongStateFiles : public DepartureJobs {};

/// The state_file of a host takes its worker away in simulation and measurement.
TEST_F(LongStateFiles, MakeWorkersDepartInBothWorlds) {
  const std::string lab = edited_lab(line_, {{"<host id=\"node-2\"", "$& state_file=\"node-2.states\""}});
  line_.write("node-2.states", "0.2 0\n0.25 1\n0.5 0\n0.55 1\n");
  const std::string job = experiment(150, "--set platform=" + lab +
                                              " --set transience.lifetime=states --set "
                                              "transience.start=0.1 --set physics.ensemble=0 --decisions");
  succeeds("simulate " + job + " --out simulated");
  succeeds("run " + job + " --out measured");
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    EXPECT_EQ(departures(found), (std::vector<Fate>{{1, 1, "departed", "lost"}, {1, 2, "departed", "lost"}}));
    EXPECT_EQ(count_of_changes(found.journal, "joined"), 4 + 2);
    expect_sound(found);
  }
}

class LossRules : public DepartureJobs {};
using LongLossRules = LossRules;

/// Each worker departs three times and comes back; some have pushed and wait for the others then.
TEST_F(LongLossRules, PushesOfLostWorkersAreDroppedInBothWorlds) {
  std::string events;
  for (int departure = 0; departure < 12; ++departure) {
    const char slot = "abcd"[departure % 4];
    events += fmt::format("{} remove {}; {} add {}; ", 10 + 4 * departure, slot, 11 + 4 * departure, slot);
  }
  events.resize(events.size() - 2);
  const std::string job =
      experiment(150, trace(events) +
                          "--set transience.start=1 --set transience.time_scale=100 --set physics.ensemble=0 "
                          "--set recovery.on_loss=drop --decisions");
  succeeds("simulate " + job + " --out simulated");
  succeeds("run " + job + " --out measured");
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    EXPECT_EQ(departures(found).size(), 12U);
    expect_sound(found);
    const auto lost = std::ranges::count_if(found.journal.decisions, [](const DecisionRecord& decision) {
      return decision.event.starts_with("left ") && decision.event.find("drops=1") != std::string::npos;
    });
    // On a busy machine, a worker may depart before it has joined.
    EXPECT_GT(lost, 0);
    EXPECT_LE(lost, 12);
  }
  const Results simulated = results("simulated");
  EXPECT_GT(sample_counts(simulated.info, simulated.journal).dropped, 0);
  expect_replayed(simulated, results("measured"));
}

/// Without servers, whose workers have the model: never all of them depart at once.
const std::string traced =
    trace("20 remove a; 30 add a; 45 remove b; 50 add b") + hundredfold + "--set physics.ensemble=0 ";
const std::vector<Fate> two_revoked = {{0, 1, "departed", "revoked"}, {1, 1, "departed", "revoked"}};

class CommitsOverDepartures : public DepartureJobs {};

TEST_P(CommitsOverDepartures, AreOfTheSameRoundsInBothWorldsAndAreResumed) {
  const std::string job = experiment(
      150, traced + "--set checkpoint.policy=fixed --set checkpoint.options.interval=40 " + GetParam());
  succeeds("simulate " + job + " --out simulated");
  succeeds("run " + job + " --out measured");
  const std::int64_t most_late = GetParam().find("asp") == std::string::npos ? 0 : 4;
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    EXPECT_EQ(departures(found), (two_revoked));
    const auto rounds = rounds_of_commits(found.journal);
    ASSERT_EQ(rounds.size(), 4U);
    // Where pushes are counted as rounds, a departure may end two rounds at once. The job also commits at its
    // end.
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t due = std::min<std::int64_t>(40 * (i + 1), 150);
      EXPECT_GE(rounds[static_cast<std::size_t>(i)], due);
      EXPECT_LE(rounds[static_cast<std::size_t>(i)], due + most_late);
    }
  }
  const std::int64_t last = rounds_of_commits(results("measured").journal).back();
  succeeds("run --resume measured --set stop.rounds=170 --out resumed");
  EXPECT_EQ(results("resumed").info.resumed.value().round, last);
  EXPECT_GE(results("resumed").summary.rounds, 170);
}

INSTANTIATE_TEST_SUITE_P(LongRules, CommitsOverDepartures,
                         ::testing::Values("", "--set sync.algorithm=asp --set checkpoint.keep=2"));

class SpareJobs : public DepartureJobs {};

/// The spare of the fourth slot takes the first departed worker's place, and the one that has come to that
/// worker's slot meanwhile the second's.
TEST_P(SpareJobs, WaitInSlotsOfTheirOwnInBothWorlds) {
  const std::string job = experiment(150, traced + GetParam() +
                                              " --set recovery.policy=spares --set placement.worker_count=3 "
                                              "--set placement.spares=[node-4]");
  succeeds("simulate " + job + " --decisions --out simulated");
  succeeds("run " + job + " --decisions --out measured");
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    if (GetParam().find("psgd") == std::string::npos) expect_sound(found);
    EXPECT_EQ(departures(found), (two_revoked));
    std::vector<std::pair<int, std::int64_t>> joined;
    for (const auto& change : changes_with(found.journal, "joined"))
      joined.emplace_back(change.slot, change.incarnation);
    EXPECT_EQ(joined, (std::vector<std::pair<int, std::int64_t>>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {0, 2}}));
  }
  refuses("simulate --resume simulated --out resumed",
          "expected a job without placement.spares, found node-4");
  expect_replayed(results("simulated"), results("measured"));
}

INSTANTIATE_TEST_SUITE_P(LongRoutes, SpareJobs,
                         ::testing::Values("", "--set sync.algorithm=d-psgd --set sync.over=peers"));

class GrowingJobs : public DepartureJobs {};

/// The machines of the other slots can be had later, and need a tenth of a second to come up.
TEST_P(GrowingJobs, GetTheSameWorkersInBothWorlds) {
  const std::string job = experiment(
      150,
      trace("0 add a; 0 add b; 20 add c; 50 add d") + hundredfold + GetParam() +
          " --set physics.ensemble=0 --set placement.worker_count=2 --set placement.spares=[node-3,node-4] "
          "--set recovery.most=4 --set recovery.scale_rate=linear --decisions");
  succeeds("simulate " + job + " --out simulated");
  succeeds("run " + job + " --out measured");
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    expect_samples_add_up(found.info, found.journal);
    std::vector<std::pair<int, std::int64_t>> joined;
    for (const auto& change : changes_with(found.journal, "joined"))
      joined.emplace_back(change.slot, change.incarnation);
    EXPECT_EQ(joined, (std::vector<std::pair<int, std::int64_t>>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
    const auto& times = found.summary.membership.value().by_workers;
    ASSERT_EQ(times.size(), 3U);
    EXPECT_NEAR(times[0].time.count(), 0.3, 0.05) << "0.2 s, and 0.1 s until it has come up";
    EXPECT_NEAR(times[1].time.count(), 0.3, 0.05);
    EXPECT_EQ(times[2].workers, 4);
    EXPECT_GT(found.journal.evaluations.back().accuracy, 0.5);
  }
  expect_replayed(results("simulated"), results("measured"));
}

INSTANTIATE_TEST_SUITE_P(LongRoutes, GrowingJobs, ::testing::Values("", "--set sync.over=all-reduce"));

class ShippedGrowth : public DepartureJobs {
 protected:
  /// Share of the cores: boards compete for them, too.
  static constexpr double disturbing_load = 0.2;

  /// In the shipped experiment two more of four equal boards come up after 6 s.
  void expect_growth(const std::string& command, const std::string& variant) const {
    SCOPED_TRACE(variant);
    const std::string out = command + "-" + variant;
    const std::string printed =
        succeeds(command + " '" + source_folder() + "/workloads/experiments/growing.yaml' --variant " +
                 variant + " --set workload.math=modelled --set evaluate_every=0 --out " + out);
    expect_in("4 workers, learning rate x 2.00: ", printed);
    const Results found = results(out);
    const auto& times = found.summary.membership.value().by_workers;
    ASSERT_EQ(times.size(), 2U);
    EXPECT_NEAR(times[0].time.count(), 6.0, 0.1);
    if (found.summary.other_load > disturbing_load) {
      std::cout << "not judged, because other programs used this machine: " << out << '\n';
      return;
    }
    const double before = static_cast<double>(times[0].samples) / times[0].time.count(),
                 after = static_cast<double>(times[1].samples) / times[1].time.count();
    EXPECT_GT(after, 1.8 * before);
    EXPECT_LT(after, 2.6 * before);
  }
};

TEST_F(ShippedGrowth, TrainsFasterWithMoreWorkers) {
  for (const char* variant : {"grows", "ring", "asp"}) expect_growth("simulate", variant);
}

/// Without servers: GrowingJobs.
using LongShippedGrowth = ShippedGrowth;

TEST_F(LongShippedGrowth, TrainsFasterWithMoreWorkers) {
  for (const char* variant : {"grows", "asp"}) expect_growth("run", variant);
}

class DeparturesWithoutServers : public DepartureJobs {};

TEST_P(DeparturesWithoutServers, HaveTheSameMembersInBothWorlds) {
  constexpr int rounds = 150;
  const std::string job = experiment(rounds, traced + GetParam());
  succeeds("simulate " + job + " --out simulated");
  succeeds("run " + job + " --out measured");
  for (const char* world : {"simulated", "measured"}) {
    SCOPED_TRACE(world);
    const Results found = results(world);
    // With a model of its own each, no worker knows what the others have applied.
    const bool has_common_model =
        GetParam().find("average") == std::string::npos && GetParam().find("psgd") == std::string::npos;
    if (has_common_model) expect_sound(found);
    EXPECT_EQ(departures(found), (two_revoked));
    EXPECT_EQ(count_of_changes(found.journal, "joined"), 4 + 2);
    ASSERT_FALSE(found.journal.evaluations.empty());
    EXPECT_EQ(found.journal.evaluations.back().round, rounds);
    EXPECT_GT(found.journal.evaluations.back().accuracy, 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(LongRoutes, DeparturesWithoutServers,
                         ::testing::Values("--set sync.over=all-reduce --set data.sampling=shuffled " +
                                               stored,
                                           "--set sync.algorithm=d-psgd --set sync.over=peers " + stored,
                                           "--set sync.over=all-reduce --set sync.algorithm=esync"));

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
