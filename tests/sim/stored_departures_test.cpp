// Workers that depart and join while they read their samples through cache nodes, which stay: negligible
// network and disks, steps of a second.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/sim/stored_ways.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/membership_checks.hpp"
#include "tests/support/names.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/id_text.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class StoredDepartures : public Training {
 protected:
  StoredDepartures() {
    platform_ = TemporaryPlatform::star(6, 1e12, 1e-7);
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }
  static Experiment job(const std::string& algorithm, sync::Route over, int prefetch) {
    Experiment experiment = small_experiment(4);
    experiment.sync.algorithm = algorithm;
    experiment.sync.over = over;
    experiment.sync.collective = "ring";
    experiment.workload.batch = 1;
    experiment.optimizer.learning_rate = 0.002;
    experiment.recovery.policy = "replace";
    experiment.data.source = DataSource::storage;
    experiment.data.prefetch = prefetch;
    experiment.data.cache_capacity = Bytes(40 * 785);
    experiment.placement.cache_nodes = {"host-0", "host-5"};
    return experiment;
  }
  static void depart_at(Experiment& experiment, const std::string& events) {
    experiment.transience.lifetime = "trace";
    experiment.transience.options["events"] = events;
  }
};

/// Machines depart within steps that are not recorded: every sample is as often trained on as any other, but
/// for those of the epoch in progress. What a worker had requested and took along is dealt again.
class UsesOfStoredSamples
    : public StoredDepartures,
      public ::testing::WithParamInterface<std::tuple<std::string, sync::Route, std::string, int>> {};

TEST_P(UsesOfStoredSamples, AreEqual) {
  const auto [algorithm, over, sampler, prefetch] = GetParam();
  Experiment experiment = job(algorithm, over, prefetch);
  experiment.data.sampling = sampler;
  experiment.stop = {.epochs = 4.5};
  depart_at(experiment, "2.5 remove a; 20.5 add a; 30.5 remove c; 50.5 remove d; 60.5 add d; 75.5 add c");
  records_losses_ = true;
  const Journal journal = train(experiment);
  EXPECT_EQ(count_of_changes(journal, "noticed"), 3);
  EXPECT_EQ(count_of_changes(journal, "joined"), 4 + 3);
  // The last ids of a common list that cannot be divided are left out.
  sampler == "shard" ? expect_uses(journal, 4, 5) : expect_uses(journal, 3, 6);
  // Besides, each worker that departed or ended had at most its requests in advance.
  EXPECT_GE(delivered(journal), trained(journal));
  EXPECT_LE(delivered(journal), trained(journal) + (4 + 3) * (prefetch + 1));
  RunInfo info;
  info.experiment = experiment;
  info.roles = {"worker", "worker", "worker", "worker"};
  const Coverage coverage = coverage_of(info, journal);
  for (const EpochCoverage& epoch : coverage.epochs) {
    EXPECT_EQ(epoch.omitted, 0) << epoch.epoch;
    EXPECT_EQ(epoch.repeated, 0) << epoch.epoch;
  }
  if (over != sync::Route::peers) expect_samples_add_up(info, journal);
}

using Use = std::tuple<std::string, sync::Route, std::string, int>;
std::string name_of_use(const ::testing::TestParamInfo<Use>& test) {
  return letters_of(std::get<0>(test.param) + to_text(std::get<1>(test.param)) + std::get<2>(test.param) +
                    std::to_string(std::get<3>(test.param)));
}
INSTANTIATE_TEST_SUITE_P(Some, UsesOfStoredSamples,
                         ::testing::Values(Use("bsp", sync::Route::all_reduce, "shuffled", 1),
                                           Use("d-psgd", sync::Route::peers, "shard", 2),
                                           Use("bsp", sync::Route::server, "shuffled", 3),
                                           Use("asp", sync::Route::server, "shard", 3)),
                         name_of_use);
INSTANTIATE_TEST_SUITE_P(LongOthers, UsesOfStoredSamples,
                         ::testing::Values(Use("bsp", sync::Route::all_reduce, "shard", 0),
                                           Use("bsp", sync::Route::all_reduce, "shard", 3),
                                           Use("bsp", sync::Route::server, "shard", 1),
                                           Use("asp", sync::Route::server, "shuffled", 1)),
                         name_of_use);

/// A worker that departs in its exchange does not hold up reads in advance for ever, and one that joins is
/// heard again.
TEST_F(StoredDepartures, ReadsInAdvanceWaitForTheExchangesOfThoseThatArePresent) {
  for (const auto& [algorithm, over] : stored_ways) {
    SCOPED_TRACE(algorithm + to_text(over));
    Experiment experiment = job(algorithm, over, 1);
    experiment.data.cache = "hoard";
    experiment.data.cache_capacity = Bytes(96 * 785);
    experiment.data.peers = Peers::plan;
    experiment.data.background = BackgroundReads::while_computing;
    experiment.stop = {.epochs = 4.5};
    depart_at(experiment, "2.5 remove a; 20.5 add a; 30.5 remove c; 50.5 remove d; 60.5 add d; 75.5 add c");
    records_losses_ = true;
    train_apart(experiment, algorithm + to_text(over), [this](const Journal& journal) {
      EXPECT_EQ(count_of_changes(journal, "joined"), 4 + 3);
      expect_uses(journal, 4, 5);
      EXPECT_GT(cache_sum(journal, "background").samples, 0);
    });
  }
}

/// Nobody waits for the node while the slot is empty, and it keeps what it has: the worker that comes reads
/// what the others have not read from memory.
TEST_F(StoredDepartures, ANodeKeepsWhatItHasForTheNextWorker) {
  Experiment experiment = job("asp", sync::Route::server, 1);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.data.cache = "minio";
  experiment.data.cache_capacity = Bytes(96 * 785);
  experiment.stop = {.epochs = 3.0};
  depart_at(experiment, "10.5 remove a; 20.5 add a");
  const Journal journal = train(experiment);
  // Each node reads a sample at most once, whoever asks for it.
  std::map<Rank, std::vector<std::uint32_t>> requested;
  for (const DeliveryRecord& record : journal.deliveries)
    add_ids(record.requested, requested.try_emplace(record.rank, 96).first->second);
  ASSERT_EQ(requested.size(), 2U);
  std::map<Rank, std::int64_t> read;
  for (const CacheRecord& record : journal.caches)
    if (record.from == "store") read[record.rank] += record.samples;
  for (const auto& [node, times] : requested)
    EXPECT_EQ(read[node], std::ssize(times) - std::ranges::count(times, 0U)) << node;
  EXPECT_GE(cache_sum(journal, "tier0").samples, 96);
  // 3 * 96 steps of a second by four workers, one of which misses ten and loses half of one.
  EXPECT_NEAR(makespan_.count(), (288 + 10.0 + 0.5) / 4, 1.5);
}

TEST_F(StoredDepartures, ALaunchInTheMiddleBeginsWithTheMachinesThatThereAre) {
  Experiment experiment = job("asp", sync::Route::server, 2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.transience.start = Seconds(5);
  experiment.stop = {.epochs = 3.0};
  depart_at(experiment, "10.5 remove a; 18.5 remove b; 19 add b; 30.5 remove c");
  generation_ = launched_again(20, 22);
  const Journal journal = train(experiment);
  std::map<Rank, int> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_FALSE(steps.contains(0));
  EXPECT_GT(steps[1], 20);
  EXPECT_NEAR(steps[2], 8, 1);
}

/// A spare joins in a slot that never had a worker.
TEST_F(StoredDepartures, ASpareReadsFromItsNode) {
  for (const auto over : {sync::Route::server, sync::Route::all_reduce}) {
    Experiment experiment = job("bsp", over, 2);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.placement.workers.resize(3);
    experiment.placement.spares = {"host-4"};
    experiment.recovery.policy = "spares";
    experiment.stop = {.epochs = 2.0};
    depart_at(experiment, "10.5 remove b");
    const auto spare_has_trained = [](const Journal& journal) {
      EXPECT_GT(std::ranges::count(journal.steps, 3, &StepRecord::rank), 20);
    };
    EXPECT_GT(train_apart(experiment, to_text(over), spare_has_trained).count(), 2.0 * 96 / 3 - 2);
  }
}

/// It asks for nothing, so nobody waits for it to leave an epoch.
TEST_F(StoredDepartures, DeliveriesAreRecordedWhereNoSpareIsNeeded) {
  Experiment experiment = job("bsp", sync::Route::server, 1);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.placement.workers.resize(3);
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  experiment.stop = {.epochs = 3.0};
  depart_at(experiment, "100000 remove b");
  const Journal journal = train(experiment);
  std::map<std::pair<Rank, std::int64_t>, std::int64_t> recorded;
  std::int64_t samples = 0;
  for (const DeliveryRecord& record : journal.deliveries) {
    recorded[{record.rank, record.epoch}] += record.samples;
    samples += record.samples;
  }
  EXPECT_GE(recorded.size(), 2U * 3U) << "of two nodes";
  EXPECT_EQ(samples, delivered(journal));
}

/// Cache nodes ask each other, and each must stay until no other one may ask it.
TEST_F(StoredDepartures, NodesThatShareACacheStayForWorkersThatCome) {
  Experiment experiment = job("bsp", sync::Route::all_reduce, 1);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.data.cache = "minio";
  experiment.data.peers = Peers::partition;
  experiment.data.copies = 1;
  experiment.placement.stores = {"host-0"};
  experiment.stop = {.epochs = 3.0};
  // All workers of the second node are away for some time.
  depart_at(experiment, "10.5 remove b; 12.5 remove d; 30.5 add b; 32.5 add d");
  const Journal journal = train(experiment);
  EXPECT_GT(cache_sum(journal, "peer").samples, 0);
  EXPECT_EQ(count_of_changes(journal, "joined"), 4 + 2);
}

/// Machines depart at any moment, also while they join.
class RandomStoredDepartures : public StoredDepartures,
                               public ::testing::WithParamInterface<std::tuple<std::string, sync::Route>> {
 protected:
  void expect_all_rounds(const std::vector<std::uint64_t>& seeds);
};

TEST_P(RandomStoredDepartures, EndWithAllRounds) { expect_all_rounds({1, 2}); }

using LongRandomStoredDepartures = RandomStoredDepartures;

TEST_P(LongRandomStoredDepartures, OfOtherTimesEndWithAllRounds) { expect_all_rounds({3, 4, 5, 6}); }

void RandomStoredDepartures::expect_all_rounds(const std::vector<std::uint64_t>& seeds) {
  const auto [algorithm, over] = GetParam();
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Experiment experiment = job(algorithm, over, static_cast<int>(seed % 3));
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.stop = {.rounds = 40};
    experiment.seed = seed;
    experiment.transience.lifetime = "exponential";
    experiment.transience.options["mean"] = 10.0;
    experiment.transience.start = Seconds(seed % 2 == 0 ? 0.0 : 3.0);
    experiment.transience.detect = Seconds(0.5);
    // Without servers, all that have the model may depart.
    if (over != sync::Route::server) experiment.transience.options["mean"] = 40.0;
    // Reads of a tenth of a second: workers depart while they wait for them.
    platform_ = TemporaryPlatform::star(6, 1e7, seed % 2 == 0 ? 1e-7 : 0.05);
    // Without barriers, workers may be beyond the last round when they are notified.
    const auto has_all_rounds = [most = algorithm == "bsp" ? 40 : 44](const Journal& journal) {
      EXPECT_GE(journal.counted_rounds, 40);
      EXPECT_LE(journal.counted_rounds, most);
    };
    EXPECT_GT(train_apart(experiment, "random", has_all_rounds).count(), 5.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Routes, RandomStoredDepartures, ::testing::ValuesIn(stored_ways),
                         name_of_stored_way);
INSTANTIATE_TEST_SUITE_P(LongRoutes, LongRandomStoredDepartures, ::testing::ValuesIn(stored_ways),
                         name_of_stored_way);

/// Nobody could serve the workers of a cache node that departs.
TEST_F(StoredDepartures, HostsOfCacheNodesAndStoresMustStay) {
  const auto refused = [&](Experiment experiment) -> std::string {
    depart_at(experiment, "10.5 remove a");
    try {
      train(experiment);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  };
  Experiment experiment = job("asp", sync::Route::server, 1);
  experiment.placement.cache_nodes = {"host-0", "host-2"};
  EXPECT_NE(refused(experiment)
                .find("placement.cache_nodes: expected hosts whose machines stay (of no "
                      "worker, or with tandem:lifetime never)"),
            std::string::npos)
      << refused(experiment);
  EXPECT_NE(refused(experiment).find("found 'host-2'"), std::string::npos);
  experiment.placement.cache_nodes = {"host-0"};
  experiment.placement.stores = {"host-3"};
  EXPECT_NE(refused(experiment).find("placement.stores: expected hosts whose machines stay"),
            std::string::npos)
      << refused(experiment);
  experiment.placement.stores = {};
  experiment.data.peers = Peers::directory;
  experiment.placement.directory = "host-3";
  EXPECT_NE(refused(experiment).find("placement.directory: expected hosts whose machines stay"),
            std::string::npos)
      << refused(experiment);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
