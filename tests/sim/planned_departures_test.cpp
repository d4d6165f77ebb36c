// Cache nodes that plan what all of them keep (data.peers: plan), and depart and come back.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/node_departures.hpp"
#include "tests/support/membership_checks.hpp"
#include "validation/compare/gates.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

const std::vector<Change>& policies() {
  static const std::vector<Change> all = {
      {"nopfs",
       [](Experiment& experiment) {
         experiment.data.cache = "nopfs";
         // Another node is faster than the store.
         experiment.data.cache_options = {{"memory_mb_s", 1000.0}, {"peer_mb_s", 100.0}, {"store_mb_s", 1.0}};
       }},
      {"foresight", [](Experiment& experiment) { experiment.data.cache = "foresight"; }},
      {"partitioned_minio", [](Experiment& experiment) { experiment.data.cache = "partitioned-minio"; }},
      {"hoard", [](Experiment& experiment) { experiment.data.cache = "hoard"; }},
      {"hoard_first_epoch", [](Experiment& experiment) {
         experiment.data.cache = "hoard";
         experiment.data.cache_options = {{"fill", std::string("first-epoch")}};
       }}};
  return all;
}

/// A plan of the lists of all workers, and one of what each node reads anyway; `others`: all but these.
std::vector<Change> some_policies(bool others) {
  std::vector<Change> some = policies();
  std::erase_if(some, [&](const Change& policy) {
    return (policy.name == "nopfs" || policy.name == "hoard") == others;
  });
  return some;
}

class PlannedDepartures : public NodeDepartures {
 protected:
  /// Two nodes with half of the workers each, for all samples together.
  static Experiment planned_by(const Change& policy, Experiment experiment) {
    experiment.placement.cache_nodes = {"host-5", "host-7"};
    experiment.data.peers = Peers::plan;
    experiment.data.sampling = "shuffled";
    experiment.data.cache_capacity = Bytes(50 * 785);
    experiment.sync.algorithm = "bsp";
    policy.make(experiment);
    return experiment;
  }
  /// A new policy decides the same with the recorded events.
  void expect_replays(const Journal& journal) const {
    Results results;
    results.info.experiment = job_->spec().experiment;
    for (Rank rank = 0; rank < job_->roster().size(); ++rank)
      results.info.roles.push_back(role_name(job_->roster().assignment(rank).role));
    results.journal.decisions = journal.decisions;
    EXPECT_GT(std::ranges::count(journal.decisions, "cache", &DecisionRecord::side), 50);
    const auto gate = validation::replay(results, {});
    EXPECT_EQ(gate.state, validation::Gate::State::passed) << gate.detail;
  }
  static std::int64_t count_of_events(const Journal& journal, const std::string& event) {
    return std::ranges::count_if(journal.decisions, [&](const DecisionRecord& record) {
      return record.side == "cache" && record.event == event;
    });
  }
};

class ModelsOfPlans : public PlannedDepartures,
                      public ::testing::WithParamInterface<std::tuple<Change, sync::Route, int, double>> {};

TEST_P(ModelsOfPlans, AreThoseOfAJobWithoutDepartures) {
  const auto& [policy, over, prefetch, notice_s] = GetParam();
  Experiment experiment = planned_by(policy, job(4, prefetch));
  experiment.sync.over = over;
  experiment.sync.collective = "ring";
  experiment.transience.notice = Seconds(notice_s);
  experiment.stop = {.rounds = 96};
  set_platform("never");
  train_apart(experiment, "without", [](const Journal& journal) {
    EXPECT_GT(cache_sum(journal, "peer").samples, 40);
    expect_delivered_once(journal, 4);
  });
  // The first node is away from 17 s, and the second one from 41 s on, for five to seven seconds.
  set_platform("fixed time=17.35");
  set_disk("host-7", "100MBps", "fixed time=41.35");
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "ready"), 2);
  EXPECT_GE(count_of_events(journal, "begins"), 2) << "policies of nodes that have come back";
  EXPECT_GE(count_of_events(journal, "peer node=0 joins=0"), 1);
  EXPECT_GE(count_of_events(journal, "peer node=0 joins=1"), 1);
  EXPECT_GT(direct(journal, 4).samples, 4);
  EXPECT_GT(cache_sum(journal, "peer").samples, 0);
  EXPECT_GE(delivered(journal), trained(journal));
  EXPECT_LE(delivered(journal), trained(journal) + 4 * (prefetch + 1));
  expect_delivered_once(journal, 4);
  EXPECT_EQ(final_model(), model_in("without"));
  expect_replays(journal);
}

using PlanOfJob = std::tuple<Change, sync::Route, int, double>;
std::string name_of_plan(const ::testing::TestParamInfo<PlanOfJob>& test) {
  std::string name = std::get<0>(test.param).name + "_" + to_text(std::get<1>(test.param)) + "_" +
                     std::to_string(std::get<2>(test.param)) +
                     (std::get<3>(test.param) > 0.0 ? "_notice" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}
/// In every check, each policy but the last has one of these ways; `is_long`: each has four, with all pairs
/// of a route, a number of batches and a notice.
std::vector<PlanOfJob> plans(bool is_long) {
  const std::vector<std::tuple<sync::Route, int, double>> each_once = {{sync::Route::server, 2, 3.0},
                                                                       {sync::Route::all_reduce, 0, 0.0},
                                                                       {sync::Route::server, 0, 0.0},
                                                                       {sync::Route::all_reduce, 2, 3.0}};
  const std::vector<std::tuple<sync::Route, int, double>> of_pairs = {{sync::Route::server, 0, 0.0},
                                                                      {sync::Route::server, 2, 3.0},
                                                                      {sync::Route::all_reduce, 0, 3.0},
                                                                      {sync::Route::all_reduce, 2, 0.0}};
  std::vector<PlanOfJob> all;
  for (std::size_t policy = 0; policy < policies().size(); ++policy) {
    const auto add = [&](const std::tuple<sync::Route, int, double>& way) {
      all.emplace_back(policies()[policy], std::get<0>(way), std::get<1>(way), std::get<2>(way));
    };
    const bool is_checked = policy < each_once.size();
    if (!is_long && is_checked) add(each_once[policy]);
    if (!is_long) continue;
    for (const auto& way : of_pairs)
      if (!is_checked || way != each_once[policy]) add(way);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Some, ModelsOfPlans, ::testing::ValuesIn(plans(false)), name_of_plan);
INSTANTIATE_TEST_SUITE_P(LongOthers, ModelsOfPlans, ::testing::ValuesIn(plans(true)), name_of_plan);

/// A node departs once: its share comes from the store while it is away, and from the node in the last epoch.
class OneDeparture : public PlannedDepartures, public ::testing::WithParamInterface<Change> {};

TEST_P(OneDeparture, TheNodeReadsItsShareAgain) {
  Experiment experiment = planned_by(GetParam(), modelled(4, 1));
  experiment.stop = {.epochs = 6.0};
  // Two epochs take about a minute, and the machine comes 22 s after it has departed.
  experiment.transience.start = Seconds(20);
  set_platform("fixed times=1e9;1e9;1e9;1e9;60");
  set_disk("host-7", "100MBps", "never");
  const Journal journal = train(experiment);
  EXPECT_EQ(count_of_changes(journal, "noticed"), 1);
  EXPECT_EQ(count_of_events(journal, "begins"), 1);
  expect_delivered_once(journal, 6);
  std::map<std::int64_t, std::int64_t> from_store, from_peer;
  for (const CacheRecord& record : journal.caches) {
    if (record.from == "store") from_store[record.epoch] += record.samples;
    if (record.from == "peer") from_peer[record.epoch] += record.samples;
  }
  EXPECT_GT(from_store[2] + from_store[3], 10);
  EXPECT_EQ(from_store[5], 0) << "all is kept again";
  EXPECT_GT(from_peer[5], 20);
  expect_replays(journal);
}

std::string name_of_change(const ::testing::TestParamInfo<Change>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(Some, OneDeparture, ::testing::ValuesIn(some_policies(false)), name_of_change);
INSTANTIATE_TEST_SUITE_P(LongOthers, OneDeparture, ::testing::ValuesIn(some_policies(true)), name_of_change);

/// The plan is for both tiers, and what the disk has of it is not read again.
TEST_F(PlannedDepartures, ADiskKeepsItsPartOfThePlan) {
  for (const bool keeps : {false, true}) {
    SCOPED_TRACE(keeps);
    Experiment experiment = planned_by(policies().front(), modelled(4, 1));
    experiment.data.cache_capacity = Bytes(10 * 785);
    experiment.data.disk_capacity = Bytes(40 * 785);
    experiment.data.cache_options["disk_mb_s"] = 100.0;
    experiment.data.keep = keeps;
    experiment.stop = {.epochs = 5.0};
    set_platform("fixed times=1e9;1e9;1e9;1e9;60");
    set_disk("host-7", "100MBps", "never");
    const auto check = [&](const Journal& journal) {
      EXPECT_EQ(count_of_changes(journal, "noticed"), 1);
      EXPECT_EQ(cache_sum(journal, "kept").samples > 30, keeps);
      expect_delivered_once(journal, 5);
      expect_replays(journal);
      // Of the node that has started twice.
      std::map<Rank, std::vector<std::string>> starts;
      for (const DecisionRecord& record : journal.decisions)
        if (record.side == "cache" && record.event == "job state=starts")
          starts[record.rank].push_back(record.decisions);
      const auto& of_node = starts.begin()->second;
      ASSERT_EQ(of_node.size(), 2U);
      int read_again = 0;
      for (auto at = of_node[1].find("keep"); at != std::string::npos; at = of_node[1].find("keep", at + 1))
        ++read_again;
      EXPECT_EQ(read_again < 20, keeps) << read_again;
    };
    train_apart(experiment, keeps ? "kept" : "lost", check);
  }
}

/// Where the nodes stay and a store departs, every policy may plan: nothing is lost that the nodes know.
class StoresOfPlans : public PlannedDepartures, public ::testing::WithParamInterface<Change> {};

TEST_P(StoresOfPlans, LeadToTheModelOfAJobWithoutDepartures) {
  Experiment experiment = planned_by(GetParam(), job(4, 1));
  experiment.stop = {.rounds = 72};
  set_platform("never");
  train_apart(experiment, "without");
  set_platform("never", "fixed time=7.35", 1e12, 1e-7);
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "ready"), 2);
  EXPECT_EQ(direct(journal, 4).samples, 0);
  expect_delivered_once(journal, 3);
  EXPECT_EQ(final_model(), model_in("without"));
  expect_replays(journal);
}

Change alone(const char* policy) {
  return {policy, [policy](Experiment& experiment) {
            experiment.data.peers = Peers::none;
            experiment.data.cache = policy;
          }};
}
const Change locality_aware = {"locality_aware",
                               [](Experiment& experiment) { experiment.data.cache = "locality-aware"; }};

INSTANTIATE_TEST_SUITE_P(Some, StoresOfPlans, ::testing::Values(alone("quiver"), locality_aware),
                         name_of_change);
INSTANTIATE_TEST_SUITE_P(LongAlone, StoresOfPlans, ::testing::Values(alone("ods")), name_of_change);
INSTANTIATE_TEST_SUITE_P(LongPlans, StoresOfPlans, ::testing::ValuesIn(policies()), name_of_change);

/// Machines of nodes depart at any moment, also while nodes join each other.
class RandomPlannedDepartures : public PlannedDepartures, public ::testing::WithParamInterface<Change> {
 protected:
  void expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed);
};

TEST_P(RandomPlannedDepartures, EndWithAllRounds) { expect_all_rounds(1, 2); }

using LongRandomPlannedDepartures = RandomPlannedDepartures;

TEST_P(LongRandomPlannedDepartures, OfOtherTimesEndWithAllRounds) { expect_all_rounds(3, 20); }

void RandomPlannedDepartures::expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed) {
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const double mean_s = seed % 4 < 2 ? 3.0 : 12.0;
    set_platform("exponential mean=" + std::to_string(mean_s), 1e7, seed % 2 == 0 ? 1e-7 : 0.05);
    Experiment experiment = planned_by(GetParam(), modelled(4, static_cast<int>(seed % 3)));
    experiment.sync.over = seed % 5 == 0 ? sync::Route::all_reduce : sync::Route::server;
    experiment.sync.collective = "ring";
    experiment.data.cache_capacity = Bytes((seed % 4 == 1 ? 96 : 30) * 785);
    experiment.stop = {.rounds = 60};
    experiment.seed = seed;
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(seed % 3 == 0 ? 0.0 : 0.5);
    const auto check = [this](const Journal& journal) {
      EXPECT_GE(journal.counted_rounds, 60);
      EXPECT_GE(delivered(journal), trained(journal));
      expect_delivered_once(journal, 2);
      expect_replays(journal);
    };
    EXPECT_GT(train_apart(experiment, "random", check).count(), 5.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Some, RandomPlannedDepartures, ::testing::ValuesIn(some_policies(false)),
                         name_of_change);
INSTANTIATE_TEST_SUITE_P(LongOthers, RandomPlannedDepartures, ::testing::ValuesIn(some_policies(true)),
                         name_of_change);
INSTANTIATE_TEST_SUITE_P(LongAll, LongRandomPlannedDepartures, ::testing::ValuesIn(policies()),
                         name_of_change);

/// The lists of an epoch change when workers depart.
TEST_F(PlannedDepartures, WorkersMustStay) {
  for (const Change& policy : policies()) {
    if (policy.name.starts_with("hoard")) continue;
    SCOPED_TRACE(policy.name);
    set_platform("fixed time=10");
    Experiment experiment = planned_by(policy, modelled(4, 0));
    experiment.transience.options["time"] = 10.0;
    try {
      train(experiment);
      ADD_FAILURE() << "no error";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what())
                    .find("data.cache: expected a policy that does not plan with the lists of workers, or "
                          "workers whose machines stay (tandem:lifetime never, or transience.lifetime fixed "
                          "without options), because the machine of the worker on 'host-1' may depart"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
