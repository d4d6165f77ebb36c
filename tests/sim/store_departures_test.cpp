// Stores whose machines depart and come back with their disks: what they have to send waits, and all else
// continues.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/node_departures.hpp"
#include "tests/support/membership_checks.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class StoreDepartures : public NodeDepartures {
 protected:
  void set_store(const std::string& lifetime, double bandwidth = 1e12, double latency_s = 1e-7) {
    set_platform("never", lifetime, bandwidth, latency_s);
  }
};

class LoadsFromAStore : public StoreDepartures, public ::testing::WithParamInterface<double> {};

/// A read that its departure interrupts is made again when it is back.
TEST_P(LoadsFromAStore, TakeUntilItIsBack) {
  const double notice_s = GetParam(), life_s = 10.05;
  const double away_s = (notice_s > 0 ? 0.0 : 2.0) + 5.0;
  set_store("fixed time=10.05");
  Experiment experiment = modelled(1, 0);
  experiment.transience.notice = Seconds(notice_s);
  experiment.stop = {.rounds = 60};
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.steps.size(), 60U);
  double time = 0.0;
  int interrupted = 0;
  for (const StepRecord& step : journal.steps) {
    double came = 0.0;
    while (came + life_s + away_s <= time) came += life_s + away_s;
    const bool is_read = time + read_s <= came + life_s;
    const double load = is_read ? read_s : came + life_s + away_s + read_s - time;
    EXPECT_NEAR(step.phases[static_cast<std::size_t>(Phase::load)].count(), load, 1e-4) << step.step;
    time += load + 1.0;
    interrupted += is_read ? 0 : 1;
  }
  EXPECT_GE(interrupted, 4);
  // That the last store is gone may not have been noticed yet.
  EXPECT_GE(makespan_.count(), time - 1e-2);
  EXPECT_LE(makespan_.count(), time + 2.0);
  EXPECT_EQ(cache_sum(journal, "store").samples, 60);
  EXPECT_EQ(direct(journal, 1).samples, 0);
  EXPECT_EQ(delivered(journal), 60);
  for (const char* event : {"joined", "departed", "noticed", "requested", "ready", "gone"})
    EXPECT_GE(std::ranges::count_if(changes_with(journal, event),
                                    [](const auto& change) {
                                      return change.host == "host-6" && change.slot == -1 &&
                                             change.role == "store";
                                    }),
              3)
        << event;
}

INSTANTIATE_TEST_SUITE_P(Notices, LoadsFromAStore, ::testing::Values(0.0, 1.0));

/// What caches have, workers get while the store is away.
TEST_F(StoreDepartures, CachesServeWhatTheyHave) {
  set_store("fixed time=110");
  Experiment experiment = modelled(1, 0);
  experiment.transience.start = Seconds(1'000);
  experiment.stop = {.epochs = 3.0};
  const Journal journal = train(experiment);
  // All have been read when it departs.
  EXPECT_NEAR(makespan_.count(), 96 * (1.0 + read_s) + 2 * 96 * 1.0, 0.1);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 2 * 96);
}

TEST_F(StoreDepartures, AJobEndsWhoseStoreDoesNotComeBackInTime) {
  set_store("fixed time=10");
  Experiment experiment = modelled(1, 0);
  experiment.transience.start = Seconds(1'000);
  experiment.recovery.give_up = Seconds(20);
  experiment.stop = {.rounds = 60};
  try {
    train(experiment);
    ADD_FAILURE() << "the job has ended";
  } catch (const WorldError& error) {
    EXPECT_NE(std::string(error.what()).find("the store on 'host-6' has departed"), std::string::npos)
        << error.what();
  }
}

class ModelsOfStores : public StoreDepartures,
                       public ::testing::WithParamInterface<std::tuple<sync::Route, Peers, int>> {};

TEST_P(ModelsOfStores, AreThoseOfAJobWithoutDepartures) {
  const auto [over, peers, prefetch] = GetParam();
  Experiment experiment = job(4, prefetch);
  experiment.sync.algorithm = "bsp";
  experiment.sync.over = over;
  experiment.sync.collective = "ring";
  experiment.data.sampling = "shuffled";
  experiment.data.cache_capacity = Bytes(40 * 785);
  experiment.placement.cache_nodes = {"host-5", "host-7"};
  // Another one has every second sample, and stays.
  experiment.placement.stores = {"host-6", "host-0"};
  experiment.data.peers = peers;
  if (peers == Peers::directory) experiment.placement.directory = "host-0";
  if (peers == Peers::none) experiment.data.bad_sample = BadSample::replace;
  experiment.stop = {.rounds = 40};
  set_store("never");
  train_apart(experiment, "without");
  set_store("fixed time=7.35");
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "ready"), 2);
  EXPECT_GE(delivered(journal), trained(journal));
  EXPECT_LE(delivered(journal), trained(journal) + 4 * (prefetch + 1));
  EXPECT_EQ(final_model(), model_in("without"));
}

INSTANTIATE_TEST_SUITE_P(Some, ModelsOfStores,
                         ::testing::Values(std::tuple(sync::Route::all_reduce, Peers::none, 2),
                                           std::tuple(sync::Route::server, Peers::partition, 1)));
INSTANTIATE_TEST_SUITE_P(LongOthers, ModelsOfStores,
                         ::testing::Values(std::tuple(sync::Route::server, Peers::none, 0),
                                           std::tuple(sync::Route::all_reduce, Peers::directory, 0)));

/// Its machines, and those of workers, depart at any moment.
class RandomStoreDepartures : public StoreDepartures {
 protected:
  void expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed);
};

TEST_F(RandomStoreDepartures, EndWithAllRounds) { expect_all_rounds(1, 4); }

using LongRandomStoreDepartures = RandomStoreDepartures;

TEST_F(LongRandomStoreDepartures, OfOtherTimesEndWithAllRounds) { expect_all_rounds(5, 20); }

void RandomStoreDepartures::expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed) {
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const double mean_s = seed % 4 < 2 ? 3.0 : 12.0;
    set_store("exponential mean=" + std::to_string(mean_s), 1e7, seed % 2 == 0 ? 1e-7 : 0.05);
    Experiment experiment = modelled(4, static_cast<int>(seed % 3));
    experiment.data.cache = seed % 5 == 1 ? "minio" : "lru";
    experiment.data.cache_capacity = Bytes(40 * 785);
    if (seed % 3 == 0) experiment.placement.stores.push_back("host-0");
    experiment.stop = {.rounds = 40};
    experiment.seed = seed;
    if (seed % 2 == 1) {
      experiment.transience.lifetime = "exponential";
      experiment.transience.options["mean"] = 20.0;
    }
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(seed % 3 == 0 ? 0.0 : 0.5);
    const auto has_all_rounds = [](const Journal& journal) {
      EXPECT_GE(journal.counted_rounds, 40);
      EXPECT_GE(delivered(journal), trained(journal));
    };
    EXPECT_GT(train_apart(experiment, "random", has_all_rounds).count(), 5.0);
  }
}

TEST_F(StoreDepartures, StoresAndCacheNodesDoNotDepartInOneJob) {
  set_platform("fixed time=10", "fixed time=10", 1e12, 1e-7);
  try {
    train(modelled(1, 0));
    ADD_FAILURE() << "not refused";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("placement.cache_nodes: expected hosts whose machines stay, because the machine of "
                        "the store on 'host-6' may depart"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
