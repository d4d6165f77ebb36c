// Cache nodes that ask each other for samples (data.peers), and depart and come back.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "tests/sim/node_departures.hpp"
#include "tests/support/membership_checks.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class PeerDepartures : public NodeDepartures {
 protected:
  /// Two nodes with two workers each.
  static Experiment shared_by(Peers peers, Experiment experiment) {
    experiment.placement.cache_nodes = {"host-5", "host-7"};
    experiment.data.peers = peers;
    experiment.data.cache = "minio";
    experiment.data.copies = 1;
    if (peers == Peers::directory) experiment.placement.directory = "host-0";
    return experiment;
  }
};

class ModelsOfPeers : public PeerDepartures,
                      public ::testing::WithParamInterface<std::tuple<Peers, sync::Route, int, double>> {};

TEST_P(ModelsOfPeers, AreThoseOfAJobWithoutDepartures) {
  const auto [peers, over, prefetch, notice_s] = GetParam();
  Experiment experiment = shared_by(peers, job(4, prefetch));
  experiment.sync.algorithm = "bsp";
  experiment.sync.over = over;
  experiment.sync.collective = "ring";
  experiment.data.sampling = "shuffled";
  experiment.transience.notice = Seconds(notice_s);
  experiment.stop = {.rounds = 72};
  set_platform("never");
  train_apart(experiment, "without", [](const Journal& journal) {
    EXPECT_GT(cache_sum(journal, "peer").samples, 40);
    expect_delivered_once(journal, 3);
  });
  set_platform("fixed time=17.35");
  set_disk("host-7", "100MBps", "fixed time=41.35");
  const Journal journal = train(experiment);
  EXPECT_GE(count_of_changes(journal, "ready"), 2);
  EXPECT_GT(direct(journal, 4).samples, 4);
  EXPECT_GT(cache_sum(journal, "peer").samples, 0);
  EXPECT_GE(delivered(journal), trained(journal));
  EXPECT_LE(delivered(journal), trained(journal) + 4 * (prefetch + 1));
  expect_delivered_once(journal, 3);
  EXPECT_EQ(final_model(), model_in("without"));
}

INSTANTIATE_TEST_SUITE_P(Some, ModelsOfPeers,
                         ::testing::Values(std::tuple(Peers::partition, sync::Route::all_reduce, 2, 3.0),
                                           std::tuple(Peers::directory, sync::Route::server, 2, 0.0)));
INSTANTIATE_TEST_SUITE_P(LongOthers, ModelsOfPeers,
                         ::testing::Values(std::tuple(Peers::partition, sync::Route::server, 0, 0.0),
                                           std::tuple(Peers::ring, sync::Route::server, 1, 0.0),
                                           std::tuple(Peers::ring, sync::Route::all_reduce, 0, 0.0),
                                           std::tuple(Peers::directory, sync::Route::all_reduce, 0, 3.0)));

/// One node departs for good while the other one stays: what the first has owned is read from the store once,
/// and kept by the other one from then on.
TEST_F(PeerDepartures, TheOtherNodeOwnsWhatIsGone) {
  for (const Peers peers : {Peers::partition, Peers::ring, Peers::directory}) {
    SCOPED_TRACE(to_text(peers));
    set_platform("fixed time=60");
    set_disk("host-7", "100MBps", "never");
    Experiment experiment = shared_by(peers, modelled(2, 0));
    experiment.transience.start = Seconds(100'000);
    experiment.stop = {.epochs = 4.0};
    const auto check = [](const Journal& journal) {
      expect_delivered_once(journal, 4);
      // Workers, server, cache nodes: those of the first worker come from the store.
      EXPECT_NEAR(static_cast<double>(direct(journal, 2).samples), 4 * 48 - 60 / (1.0 + 2 * read_s), 2.0);
      std::map<std::int64_t, std::int64_t> read;
      for (const CacheRecord& record : journal.caches)
        if (record.rank == 4 && record.from == "store") read[record.epoch] += record.samples;
      EXPECT_EQ(read[3], 0) << "all that its worker asks for is kept";
      EXPECT_EQ(cache_sum(journal, "peer", 2).samples, 0);
    };
    train_apart(experiment, to_text(peers), check);
  }
}

/// Machines of nodes, and of workers, depart at any moment, also while nodes join each other.
class RandomPeerDepartures : public PeerDepartures, public ::testing::WithParamInterface<Peers> {
 protected:
  void expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed);
};

TEST_P(RandomPeerDepartures, EndWithAllRounds) { expect_all_rounds(1, 2); }

using LongRandomPeerDepartures = RandomPeerDepartures;

TEST_P(LongRandomPeerDepartures, OfOtherTimesEndWithAllRounds) { expect_all_rounds(3, 20); }

void RandomPeerDepartures::expect_all_rounds(std::uint64_t first_seed, std::uint64_t last_seed) {
  for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Reads of a tenth of a second, and slow messages: machines depart while others wait for them.
    const double mean_s = seed % 4 < 2 ? 3.0 : 12.0;
    set_platform("exponential mean=" + std::to_string(mean_s), 1e7, seed % 2 == 0 ? 1e-7 : 0.05);
    Experiment experiment = shared_by(GetParam(), modelled(4, static_cast<int>(seed % 3)));
    if (seed % 3 == 0) experiment.data.copies = 0;
    experiment.sync.over = seed % 5 == 0 ? sync::Route::all_reduce : sync::Route::server;
    experiment.sync.collective = "ring";
    if (seed % 2 == 0) experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes((seed % 4 == 1 ? 96 : 30) * 785);
    experiment.stop = {.rounds = 40};
    experiment.seed = seed;
    if (seed % 2 == 1) {
      experiment.transience.lifetime = "exponential";
      experiment.transience.options["mean"] = 40.0;
    }
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(seed % 3 == 0 ? 0.0 : 0.5);
    const auto has_all_rounds = [](const Journal& journal) {
      EXPECT_GE(journal.counted_rounds, 40);
      EXPECT_GE(delivered(journal), trained(journal));
      std::int64_t recorded = 0;
      for (const DeliveryRecord& record : journal.deliveries) recorded += record.samples;
      EXPECT_EQ(recorded, delivered(journal)) << "classes do not add up";
    };
    EXPECT_GT(train_apart(experiment, "random", has_all_rounds).count(), 5.0);
  }
}

std::string name_of_test(const ::testing::TestParamInfo<Peers>& test) { return to_text(test.param); }
INSTANTIATE_TEST_SUITE_P(All, RandomPeerDepartures,
                         ::testing::Values(Peers::partition, Peers::ring, Peers::directory), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongAll, LongRandomPeerDepartures,
                         ::testing::Values(Peers::partition, Peers::ring, Peers::directory), name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
