// Cache nodes whose machines depart and come back while workers train: negligible network, a store that takes
// a tenth of a second for a sample, steps of a second.
#include "tests/sim/node_departures.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/stored_ways.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/membership_checks.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/id_text.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

/// How long a worker waits for a sample that nobody has in memory: the machines of the node live so long
/// each, and their departures are noticed after `detect`.
struct Absences {
  double life_s, detect_s, start_s;
  struct Load {
    double time;
    bool is_direct;
  };
  Load at(double time) const {
    double came = 0.0;
    while (came + life_s + detect_s + start_s <= time) came += life_s + detect_s + start_s;
    const double departs = came + life_s, noticed = departs + detect_s;
    if (time + read_s <= departs) return {read_s, false};
    return {std::max(0.0, noticed - time) + read_s, true};
  }
};

class LoadTimes : public NodeDepartures, public ::testing::WithParamInterface<double> {};

TEST_P(LoadTimes, AreThoseOfTheStoreAndOfTheDetection) {
  const double notice_s = GetParam();
  set_platform("fixed time=10.05");
  Experiment experiment = modelled(1, 0);
  experiment.transience.notice = Seconds(notice_s);
  experiment.stop = {.rounds = 60};
  const Journal journal = train(experiment);
  const Absences absences{10.05, notice_s > 0 ? 0.0 : 2.0, 5.0};
  ASSERT_EQ(journal.steps.size(), 60U);
  double time = 0.0, blocked = 0.0;
  std::int64_t direct_loads = 0;
  for (const StepRecord& step : journal.steps) {
    const auto load = absences.at(time);
    EXPECT_NEAR(step.phases[static_cast<std::size_t>(Phase::load)].count(), load.time, 1e-4) << step.step;
    time += load.time + 1.0;
    direct_loads += load.is_direct ? 1 : 0;
    blocked += load.is_direct ? load.time : 0.0;
  }
  EXPECT_GT(direct_loads, 15);
  EXPECT_NEAR(makespan_.count(), time, 1e-2);
  EXPECT_EQ(direct(journal, 1).samples, direct_loads);
  EXPECT_NEAR(direct(journal, 1).blocked.count(), blocked, 1e-3);
  EXPECT_EQ(cache_sum(journal, "store").samples, 60);
  EXPECT_EQ(delivered(journal), 60);
  // Those of the machine, which has no worker's slot.
  for (const char* event : {"joined", "departed", "noticed", "requested", "ready", "gone"}) {
    std::int64_t rows = 0;
    for (const auto& change : changes_with(journal, event)) {
      if (change.host != "host-5") continue;
      ++rows;
      EXPECT_EQ(change.slot, -1);
    }
    EXPECT_GE(rows, 3) << event;
  }
}

INSTANTIATE_TEST_SUITE_P(Notices, LoadTimes, ::testing::Values(0.0, 1.0));

/// Everything that it had is lost: samples come from the store again.
TEST_F(NodeDepartures, ANodeComesBackEmpty) {
  set_platform("fixed time=150.05");
  Experiment experiment = modelled(1, 0);
  experiment.stop = {.epochs = 4.0};
  const Journal journal = train(experiment);
  // It departs in the second epoch, which begins at 105.6 s: 45 samples came from memory before.
  EXPECT_EQ(cache_sum(journal, "tier0", 0).samples, 0);
  const auto second = cache_sum(journal, "tier0", 1);
  EXPECT_NEAR(static_cast<double>(second.samples), 150.05 - 96 * 1.1, 1.0);
  EXPECT_EQ(cache_sum(journal, "store", 1).samples, 96 - second.samples);
  EXPECT_EQ(delivered(journal), 4 * 96);
  RunInfo info;
  info.experiment = experiment;
  info.roles = {"worker", "server", "cache-node", "store", "steward"};
  const Coverage coverage = coverage_of(info, journal);
  ASSERT_EQ(coverage.epochs.size(), 4U);
  for (const EpochCoverage& epoch : coverage.epochs) {
    EXPECT_EQ(epoch.distinct, 96) << epoch.epoch;
    EXPECT_EQ(epoch.omitted + epoch.repeated, 0) << epoch.epoch;
  }
  // What caches could have delivered at most, they could not have kept.
  info.hosts = {"host-1", "host-0", "host-5", "host-6", "host-0"};
  const DataPart warm = data_figures(info, journal).value().warm.value();
  EXPECT_FALSE(warm.bound);
  EXPECT_EQ(warm.belady.missing, "a cache node departed with its cache");
}

/// Lives of nodes in tenths of a second.
class Deliveries : public NodeDepartures {
 protected:
  void expect_once(int tenths);
};

/// Batches that were requested in advance, at the border of two epochs, are counted once: by the node that
/// has sent them, or as read from the store.
TEST_F(Deliveries, AreMadeOnce) {
  for (int tenths = 3; tenths < 30; tenths += 4) expect_once(tenths);
}

using LongDeliveries = Deliveries;

TEST_F(LongDeliveries, AreMadeOnceAtAnyTime) {
  for (int tenths = 3; tenths < 30; ++tenths)
    if ((tenths - 3) % 4 != 0) expect_once(tenths);
}

void Deliveries::expect_once(int tenths) {
  SCOPED_TRACE(tenths);
  set_platform("fixed time=" + std::to_string(0.1 * tenths + 0.033));
  Experiment experiment = modelled(3, 2);
  experiment.workload.train_samples = 12;
  experiment.transience.detect = Seconds(0.3);
  experiment.transience.start = Seconds(0.4);
  experiment.stop = {.rounds = 16};
  const auto check = [](const Journal& journal) {
    std::int64_t recorded = 0;
    for (const DeliveryRecord& record : journal.deliveries) recorded += record.samples;
    EXPECT_EQ(recorded, delivered(journal));
    EXPECT_GE(delivered(journal), 48);
    EXPECT_LE(delivered(journal), 48 + 3 * 3);
    std::map<std::int64_t, std::vector<std::uint32_t>> requested;
    for (const DeliveryRecord& record : journal.deliveries)
      add_ids(record.requested, requested.try_emplace(record.epoch, 12).first->second);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch)
      EXPECT_EQ(std::ranges::count(requested[epoch], 1U), 12) << epoch;
  };
  train_apart(experiment, "once", check);
}

/// One node departs, and the workers of the other one do not notice.
TEST_F(NodeDepartures, OtherNodesServeTheirWorkers) {
  set_platform("fixed time=10.05");
  Experiment experiment = modelled(2, 0);
  experiment.placement.cache_nodes = {"host-5", "host-0"};
  experiment.stop = {.rounds = 40};
  const Journal journal = train(experiment);
  std::map<Rank, std::int64_t> read;
  for (const CacheRecord& record : journal.caches)
    if (is_delivered(record)) read[record.rank] += record.samples;
  // Workers, server, cache nodes.
  EXPECT_GT(read[0], 8);
  EXPECT_EQ(read[1], 0);
  EXPECT_EQ(read[0] + read[3], 40);
  EXPECT_EQ(read[4], 40);
}

TEST_F(NodeDepartures, ADiskKeepsItsTierForTheNextNode) {
  for (const bool keeps : {false, true}) {
    set_platform("fixed time=115.05");
    Experiment experiment = modelled(1, 0);
    experiment.data.cache_capacity = Bytes(10 * 785);
    experiment.data.disk_capacity = Bytes(96 * 785);
    experiment.data.keep = keeps;
    experiment.stop = {.rounds = 2 * 96};
    const auto check = [keeps](const Journal& journal) {
      const auto kept = cache_sum(journal, "kept").samples;
      EXPECT_EQ(kept > 80, keeps) << kept;
      // In the second epoch, what is not in the tier is read from the store.
      const auto read = cache_sum(journal, "store", 1).samples;
      EXPECT_EQ(read < 20, keeps) << read;
    };
    train_apart(experiment, keeps ? "kept" : "lost", check);
  }
}

/// The samples are the same, and so is the model.
class ModelsWithDepartures
    : public NodeDepartures,
      public ::testing::WithParamInterface<std::tuple<sync::Route, std::string, int, double>> {};

TEST_P(ModelsWithDepartures, AreThoseOfAJobWithout) {
  const auto [over, sampler, prefetch, notice_s] = GetParam();
  Experiment experiment = job(4, prefetch);
  experiment.sync.algorithm = "bsp";
  experiment.sync.over = over;
  experiment.sync.collective = "ring";
  experiment.data.sampling = sampler;
  experiment.data.cache_capacity = Bytes(40 * 785);
  if (prefetch == 2) experiment.placement.stores.push_back("host-0");
  if (prefetch == 1) experiment.data.bad_sample = BadSample::replace;
  experiment.transience.notice = Seconds(notice_s);
  experiment.stop = {.rounds = 40};
  set_platform("never");
  train_apart(experiment, "without");
  set_platform("fixed time=7.35");
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "ready"), 2);
  EXPECT_GT(direct(journal, 4).samples, 4);
  EXPECT_GE(delivered(journal), trained(journal));
  EXPECT_LE(delivered(journal), trained(journal) + 4 * (prefetch + 1));
  EXPECT_EQ(final_model(), model_in("without"));
}

INSTANTIATE_TEST_SUITE_P(Routes, ModelsWithDepartures,
                         ::testing::Values(std::tuple(sync::Route::server, "shuffled", 1, 3.0),
                                           std::tuple(sync::Route::all_reduce, "shard", 2, 0.0)));
INSTANTIATE_TEST_SUITE_P(LongRoutes, ModelsWithDepartures,
                         ::testing::Values(std::tuple(sync::Route::server, "shard", 0, 0.0),
                                           std::tuple(sync::Route::server, "shard", 2, 0.0),
                                           std::tuple(sync::Route::all_reduce, "shuffled", 0, 3.0)));

/// Machines of workers and of nodes depart at any moment, also while they join each other.
class RandomNodeDepartures : public NodeDepartures,
                             public ::testing::WithParamInterface<std::tuple<std::string, sync::Route>> {
 protected:
  void expect_all_rounds(const std::vector<std::uint64_t>& seeds);
};

TEST_P(RandomNodeDepartures, EndWithAllRounds) { expect_all_rounds({1, 2}); }

using LongRandomNodeDepartures = RandomNodeDepartures;

TEST_P(LongRandomNodeDepartures, OfOtherTimesEndWithAllRounds) { expect_all_rounds({3, 4, 5, 6, 7, 8}); }

void RandomNodeDepartures::expect_all_rounds(const std::vector<std::uint64_t>& seeds) {
  const auto [algorithm, over] = GetParam();
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Reads of a tenth of a second, and slow messages: machines depart while others wait for them.
    const double mean_s = seed % 4 < 2 ? 3.0 : 12.0;
    set_platform("exponential mean=" + std::to_string(mean_s), 1e7, seed % 2 == 0 ? 1e-7 : 0.05);
    Experiment experiment = modelled(4, static_cast<int>(seed % 3));
    experiment.sync.algorithm = algorithm;
    experiment.sync.over = over;
    experiment.sync.collective = "ring";
    experiment.data.cache_capacity = Bytes(40 * 785);
    experiment.stop = {.rounds = 40};
    experiment.seed = seed;
    experiment.transience.lifetime = "exponential";
    experiment.transience.options["mean"] = over == sync::Route::server ? 10.0 : 40.0;
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(seed % 3 == 0 ? 0.0 : 0.5);
    const auto has_all_rounds = [most = algorithm == "bsp" ? 40 : 44](const Journal& journal) {
      EXPECT_GE(journal.counted_rounds, 40);
      EXPECT_LE(journal.counted_rounds, most);
      EXPECT_GE(delivered(journal), trained(journal));
    };
    EXPECT_GT(train_apart(experiment, "random", has_all_rounds).count(), 5.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, RandomNodeDepartures, ::testing::ValuesIn(stored_ways), name_of_stored_way);
INSTANTIATE_TEST_SUITE_P(LongRoutes, LongRandomNodeDepartures, ::testing::ValuesIn(stored_ways),
                         name_of_stored_way);

TEST_F(NodeDepartures, ALaunchInTheMiddleBeginsWithTheNodesThatThereAre) {
  set_platform("fixed time=18");
  Experiment experiment = modelled(1, 1);
  experiment.transience.start = Seconds(10);
  experiment.stop = {.rounds = 40};
  // The machine of the node has departed at 18 s, which is noticed at 20 s, and the next one comes at 30 s.
  generation_ = launched_again(21, 22);
  const Journal journal = train(experiment);
  EXPECT_EQ(trained(journal), 40);
  // From 22 s to 30 s.
  EXPECT_GE(direct(journal, 1).samples, 7);
}

/// Its workers have joined it as the launch begins.
TEST_F(NodeDepartures, ALaunchBeforeADepartureReadsFromTheNode) {
  set_platform("fixed time=18");
  Experiment experiment = modelled(1, 1);
  experiment.transience.start = Seconds(10'000);
  experiment.stop = {.rounds = 40};
  generation_ = launched_again(5, 6);
  const Journal journal = train(experiment);
  EXPECT_EQ(trained(journal), 40);
  EXPECT_GT(trained(journal) - direct(journal, 1).samples, 5) << "from the node";
}

TEST_F(NodeDepartures, WhatANodeThatDepartsCannotDoIsRefused) {
  set_platform("fixed time=10");
  const auto refused = [&](const std::function<void(Experiment&)>& change) -> std::string {
    Experiment experiment = modelled(2, 1);
    change(experiment);
    try {
      train(experiment);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  const auto expect_refused = [&](const std::string& expected,
                                  const std::function<void(Experiment&)>& change) {
    const std::string message = refused(change);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
  };
  expect_refused(
      "placement.stores: expected hosts of stores that serve (data.store served), because the "
      "machine of the cache node on 'host-5' may depart",
      [](Experiment& experiment) { experiment.placement.stores.clear(); });
  for (const char* policy : {"quiver", "ods", "icache", "deepio", "locality-aware"})
    expect_refused("data.cache: expected a policy that neither replaces samples nor lets them change places",
                   [policy](Experiment& experiment) { experiment.data.cache = policy; });
  expect_refused("data.cache: expected a policy that needs no losses, which a node that comes back lacks",
                 [](Experiment& experiment) { experiment.data.cache = "shade"; });
  expect_refused(
      "placement.cache_nodes: expected hosts whose machines stay (of no worker, or with "
      "tandem:lifetime never), or hosts of a cache node alone (this one has a server)",
      [](Experiment& experiment) { experiment.placement.servers = {"host-5"}; });
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
