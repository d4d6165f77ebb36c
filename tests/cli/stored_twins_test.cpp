// Jobs that read their samples through cache nodes, in both worlds: the same samples from the same places,
// and the times of their disks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cli/twins.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/paths.hpp"
#include "validation/compare/compare.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using LongTwins = Twins;

TEST_F(LongTwins, CachesServeTheSameSamples) {
  play("--set data.source=storage --set data.cache_capacity=100000 --set placement.cache_nodes=[server]");
  const auto hits = [](const Results& results) {
    return std::pair(cache_sum(results.journal, "tier0").samples,
                     cache_sum(results.journal, "store").samples);
  };
  EXPECT_EQ(hits(simulated_).first + hits(simulated_).second, hits(measured_).first + hits(measured_).second);
  EXPECT_GT(hits(measured_).second, 0);
}

/// Two stores behind two cache nodes with one worker each: classes, bytes and decisions are exact. Requests
/// in advance could find samples of the epoch before still in flight.
class StoredTwins : public Twins {};

TEST_P(StoredTwins, StoresServeTheSameSamples) {
  play("--set platform=" + edited_lab(line_, {disks_of("node-[126]")}) +
       " --set data.source=storage --set data.cache_capacity=10000 --set "
       "workload.train_samples=48 --set placement.workers=[node-1,node-2] --set "
       "placement.cache_nodes=[node-1,node-2] --set placement.stores=[server,node-6] --set data.prefetch=0 "
       "--set sync.over=all-reduce " +
       GetParam());
  EXPECT_GT(simulated_.summary.cache.value().local, 0);
  for (const char* key : {"local", "storage", "local_bytes", "storage_bytes"})
    EXPECT_EQ(to_json(measured_.summary).at("cache").at(key), to_json(simulated_.summary).at("cache").at(key))
        << key;
  for (const char* from : {"tier0", "tier1", "store"})
    EXPECT_EQ(cache_sum(measured_.journal, from).bytes, cache_sum(simulated_.journal, from).bytes) << from;
  for (const char* part : {"cold", "warm"}) {
    const auto simulated = to_json(simulated_.summary).at("data").at(part);
    const auto measured = to_json(measured_.summary).at("data").at(part);
    for (const char* key : {"epochs", "requests", "byte_hit_ratio", "bound", "belady"})
      EXPECT_EQ(measured.at(key), simulated.at(key)) << part << ' ' << key;
    EXPECT_TRUE(measured.at("bound").is_object()) << part;
    EXPECT_TRUE(measured.at("belady").at("missing").is_null()) << part;
    EXPECT_LE(measured.at("byte_hit_ratio"), measured.at("belady").at("byte_hit_ratio")) << part;
  }
  EXPECT_EQ(measured_.summary.data.value().coverage, simulated_.summary.data.value().coverage);
  EXPECT_EQ(measured_.summary.data.value().coverage.value().distinct_share, 1.0);
  const auto comparison = validation::compare(simulated_, {measured_});
  EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, validation::Gate::State::passed) << comparison.decisions.detail;
  std::int64_t read = 0;
  for (const auto& record : measured_.journal.operations)
    if (record.kind == "read" && measured_.info.roles.at(static_cast<std::size_t>(record.rank)) == "store")
      read += record.bytes;
  EXPECT_EQ(read, measured_.summary.cache.value().storage_bytes);
}

INSTANTIATE_TEST_SUITE_P(Memory, StoredTwins, ::testing::Values("--set data.cache=minio"));
INSTANTIATE_TEST_SUITE_P(LongTiers, StoredTwins, ::testing::Values("--set data.disk_capacity=15000"));

/// Three nodes share one cache: samples that a node neither owns nor has come from their owner, or from the
/// store if that has not wanted them yet. A sample is wanted once in an epoch, and an owner keeps what it
/// has, so it does not matter when it is asked.
class SharedTwins : public Twins {};

TEST_P(SharedTwins, CacheNodesGiveEachOtherTheSameSamples) {
  play(
      "--set data.source=storage --set data.cache=minio --set data.cache_capacity=10000 --set "
      "data.sampling=shuffled --set workload.train_samples=48 --set stop.rounds=12 --set "
      "placement.workers=[node-1,node-2,node-3] --set placement.cache_nodes=[node-1,node-2,node-3] --set "
      "placement.stores=[server] --set data.prefetch=0 --set sync.over=all-reduce " +
      GetParam());
  const auto cache = to_json(simulated_.summary).at("cache");
  EXPECT_GT(cache.at("peer"), 0);
  EXPECT_GT(cache.at("peer_misses"), 0);
  EXPECT_EQ(cache.at("requests"), 12 * 3 * 8);
  EXPECT_EQ(cache.at("local").get<int>() + cache.at("peer").get<int>() + cache.at("storage").get<int>(),
            12 * 3 * 8);
  for (const char* key :
       {"requests", "local", "peer", "peer_misses", "storage", "local_bytes", "peer_bytes", "storage_bytes"})
    EXPECT_EQ(to_json(measured_.summary).at("cache").at(key), cache.at(key)) << key;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch)
    for (const char* from : {"tier0", "peer", "peer-miss", "store"})
      EXPECT_EQ(cache_sum(measured_.journal, from, epoch).samples,
                cache_sum(simulated_.journal, from, epoch).samples)
          << from << " in epoch " << epoch;
  const auto comparison = validation::compare(simulated_, {measured_});
  EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, validation::Gate::State::passed) << comparison.decisions.detail;
  // Real mathematics on the same samples: a wrong one would change the losses.
  ASSERT_EQ(measured_.journal.steps.size(), simulated_.journal.steps.size());
  const auto losses = [](const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const StepRecord& step : results.journal.steps) by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  };
  EXPECT_EQ(losses(measured_), losses(simulated_));
}

INSTANTIATE_TEST_SUITE_P(LongOwners, SharedTwins,
                         ::testing::Values("--set data.peers=partition --set data.copies=1",
                                           "--set data.peers=ring --set data.copies=2"));

/// Three nodes and a directory, one copy of each sample, and room for all samples: each is read from the
/// store once, and later comes from where it is. As for owners, the order of requests does not matter.
class DirectoryTwins : public Twins {};

TEST_P(DirectoryTwins, ReadEachSampleFromTheStoreOnce) {
  play(
      "--set data.source=storage --set data.cache_capacity=13000 --set data.prefetch=0 --set "
      "workload.train_samples=48 --set stop.rounds=12 --set placement.workers=[node-1,node-2,node-3] --set "
      "placement.cache_nodes=[node-1,node-2,node-3] --set placement.stores=[server] --set "
      "placement.directory=server --set data.peers=directory --set data.copies=1 --set "
      "sync.over=all-reduce " +
      GetParam());
  const auto cache = to_json(simulated_.summary).at("cache");
  EXPECT_EQ(cache.at("storage"), 48);
  EXPECT_EQ(cache.at("peer_misses"), 0);
  EXPECT_GT(cache.at("peer"), 48);
  for (const char* key :
       {"requests", "local", "peer", "peer_misses", "storage", "local_bytes", "peer_bytes", "storage_bytes"})
    EXPECT_EQ(to_json(measured_.summary).at("cache").at(key), cache.at(key)) << key;
  for (const char* part : {"cold", "warm"}) {
    const auto simulated = to_json(simulated_.summary).at("data").at(part).at("directory");
    const auto measured = to_json(measured_.summary).at("data").at(part).at("directory");
    for (const char* key : {"messages", "bytes", "samples"})
      EXPECT_EQ(measured.at("lookups").at(key), simulated.at("lookups").at(key)) << part << ' ' << key;
    for (const char* key : {"published", "withdrawn", "repaired"})
      EXPECT_EQ(measured.at("updates").at(key), simulated.at("updates").at(key)) << part << ' ' << key;
    EXPECT_GT(measured.at("lookups").at("blocked_s"), 0) << part;
  }
  const auto cold = to_json(simulated_.summary).at("data").at("cold").at("directory");
  EXPECT_EQ(cold.at("lookups").at("samples"), 48);
  EXPECT_EQ(cold.at("updates").at("published"), 48);
  const auto comparison = validation::compare(simulated_, {measured_});
  // icache may read in the background.
  if (GetParam().find("icache") == std::string::npos) {
    EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
    EXPECT_EQ(comparison.decisions.state, validation::Gate::State::passed) << comparison.decisions.detail;
  }
  EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
}

INSTANTIATE_TEST_SUITE_P(
    LongPolicies, DirectoryTwins,
    ::testing::Values("--set data.cache=minio --set data.sampling=shuffled",
                      "--set data.cache=lru --set data.sampling=shuffled",
                      "--set data.cache=icache --set 'data.cache_options={split: 1.0}' "
                      "--set data.sampling=importance --set "
                      "'data.sampling_options={warm_up: 1, history: 8, block: 8, high: 1}'"));

/// A directory names nodes that evict meanwhile, so counts differ; what policies decide is what was recorded.
TEST_F(LongTwins, DecisionsWithADirectoryReplay) {
  play(
      "--set data.source=storage --set data.cache=lru --set data.cache_capacity=8000 --set "
      "data.sampling=shuffled --set workload.train_samples=48 --set stop.rounds=12 --set "
      "placement.workers=[node-1,node-2,node-3] --set placement.cache_nodes=[node-1,node-2] --set "
      "placement.stores=[server] --set data.peers=directory --set data.copies=1");
  EXPECT_GT(to_json(simulated_.summary).at("data").at("warm").at("directory").at("updates").at("withdrawn"),
            0);
  const auto comparison = validation::compare(simulated_, {measured_});
  EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
  EXPECT_EQ(measured_.summary.cache.value().requests, simulated_.summary.cache.value().requests);
}

/// Each worker tells its node of the beginning and the end of each exchange, and of its own end, and trains
/// on the same samples.
TEST_F(LongTwins, ReadsInTheBackgroundMayWaitForExchanges) {
  play(
      "--set data.source=storage --set data.cache=hoard --set data.cache_capacity=100000 --set "
      "placement.cache_nodes=[server] --set data.background=while-computing --set sync.over=all-reduce --set "
      "placement.workers=[node-1,node-2,node-3]");
  for (const Results* results : {&simulated_, &measured_}) {
    std::map<Rank, int> steps, told;
    for (const StepRecord& step : results->journal.steps) ++steps[step.rank];
    for (const OperationRecord& operation : results->journal.operations)
      if (operation.kind == "send" && operation.channel == "phases") ++told[operation.rank];
    ASSERT_EQ(steps.size(), 3U);
    for (const auto& [rank, count] : steps) EXPECT_EQ(told[rank], 2 * count + 1) << "rank " << rank;
    EXPECT_GT(cache_sum(results->journal, "background").samples, 0);
  }
  const auto comparison = validation::compare(simulated_, {measured_});
  EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
}

/// iCache with the importance that training has: in both worlds, the same samples are substituted, read in
/// the background and trained on. Steps are much longer than reads in the background.
class ImportanceTwins : public Twins {
 protected:
  using Row = std::tuple<std::int64_t, std::string, std::int64_t, std::int64_t>;
  static std::vector<Row> classes(const Results& results) {
    std::vector<Row> rows;
    for (const CacheRecord& record : results.journal.caches)
      if (record.samples > 0) rows.emplace_back(record.epoch, record.from, record.samples, record.bytes);
    std::ranges::sort(rows);
    return rows;
  }
  /// "want", "arrived", "idle", ... by cache node.
  static std::map<Rank, std::vector<std::string>> order_of_events(const Results& results) {
    std::map<Rank, std::vector<std::string>> order;
    for (const DecisionRecord& record : results.journal.decisions)
      if (record.side == "cache")
        order[record.rank].push_back(record.event.substr(0, record.event.find(' ')));
    return order;
  }
  static std::vector<std::tuple<Rank, std::int64_t, SampleId>> trained(const Results& results) {
    std::vector<std::tuple<Rank, std::int64_t, SampleId>> ids;
    for (const LossRecord& record : results.journal.losses)
      ids.emplace_back(record.rank, record.epoch, record.id);
    return ids;
  }
  static void expect_no_sample_twice(const Results& results) {
    EXPECT_EQ(results.summary.cache.value().requests, std::ssize(results.journal.losses));
    std::set<std::pair<std::int64_t, SampleId>> distinct;
    for (const LossRecord& record : results.journal.losses) distinct.emplace(record.epoch, record.id);
    EXPECT_EQ(distinct.size(), results.journal.losses.size()) << "no sample twice in an epoch";
  }
  void expect_replayed() const {
    const auto comparison = validation::compare(simulated_, {measured_});
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    EXPECT_GE(comparison.replay.checked,
              std::ranges::count(measured_.journal.decisions, "cache", &DecisionRecord::side) +
                  std::ranges::count(simulated_.journal.decisions, "cache", &DecisionRecord::side));
  }
  const std::string icache_ =
      "--losses --set workload.dataset=fashion-mnist --set workload.model=lenet --set workload.batch=32 "
      "--set workload.train_samples=256 --set data.source=storage --set data.prefetch=0 --set "
      "data.sampling=importance --set 'data.sampling_options={warm_up: 1, history: 8, block: 8}' --set "
      "data.cache=icache --set 'data.cache_options={split: 0.5, package: 4, substitution: same-class}' "
      "--set data.cache_capacity=18.75% --set stop.rounds=0 --set stop.epochs=3 --set evaluate_every=0 ";
};

TEST_P(ImportanceTwins, CachesDeliverTheSameSamples) {
  // On a busy machine, a read may end after the next request.
  for (int tried = 0; tried < 3 && (tried == 0 || order_of_events(measured_) != order_of_events(simulated_));
       ++tried) {
    ASSERT_EQ(line_.shell("rm -rf simulated measured").exit_code, 0);
    play(icache_ + "--set data.background=idle " + GetParam());
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(order_of_events(measured_), order_of_events(simulated_));
  EXPECT_EQ(classes(measured_), classes(simulated_));
  EXPECT_EQ(trained(measured_), trained(simulated_));
  for (const char* from : {"tier0", "store", "background"})
    EXPECT_GT(cache_sum(measured_.journal, from).samples, 0) << from;
  expect_no_sample_twice(measured_);
  expect_replayed();
}

INSTANTIATE_TEST_SUITE_P(
    LongWorkers, ImportanceTwins,
    ::testing::Values("--set sync.algorithm=sequential --set placement.workers=[node-6] --set "
                      "placement.cache_nodes=[server]",
                      "--set sync.over=all-reduce --set placement.workers=[node-5,node-6] --set "
                      "placement.cache_nodes=[server,server]"));

/// Loaders that do not pause, the default. Which of several reads ends first differs, and so does the model
/// after such an epoch. The first epoch reads all samples from the store, so that the second one has the same
/// list in both worlds. Its samples come from the same places, except a few.
class LongLoaders : public ImportanceTwins {};

TEST_F(LongLoaders, DeliverEachSampleOnceFromAboutTheSamePlaces) {
  play(icache_ +
       "--set data.background=4 --set sync.over=all-reduce --set placement.workers=[node-5,node-6] --set "
       "placement.cache_nodes=[server,server]");
  const auto samples = [](const Results& results, const char* from, std::int64_t epoch) {
    return static_cast<double>(cache_sum(results.journal, from, epoch).samples);
  };
  EXPECT_EQ(samples(measured_, "store", 0), 256);
  const auto requests_of_second = [&](const Results& results) {
    return samples(results, "tier0", 1) + samples(results, "substituted", 1) + samples(results, "store", 1);
  };
  EXPECT_EQ(requests_of_second(measured_), requests_of_second(simulated_));
  const double few = 0.15 * requests_of_second(simulated_);
  for (const char* from : {"tier0", "substituted", "store"})
    EXPECT_NEAR(samples(measured_, from, 1), samples(simulated_, from, 1), few) << from;
  for (const Results* results : {&simulated_, &measured_}) {
    for (const char* from : {"tier0", "substituted", "background"})
      EXPECT_GT(cache_sum(results->journal, from).samples, 0) << from;
    expect_no_sample_twice(*results);
  }
  expect_replayed();
}

/// Each sample that is not in the cache is a request to the disk: latency and bytes / rate, in both worlds.
TEST_F(LongTwins, EachRequestPaysTheLatencyOfItsDisk) {
  constexpr double latency_s = 0.002, rate = 200e6;
  const std::string lab =
      edited_lab(line_, {{"<disk id=\"disk\".*/>",
                          "<disk id=\"disk\" read_bw=\"200MBps\" write_bw=\"150MBps\"><prop "
                          "id=\"tandem:latency\" value=\"2ms\"/></disk>"}});
  // No checkpoints, which would use the disk too.
  play("--set platform=" + lab +
       " --set data.source=storage --set data.cache_capacity=100000 --set "
       "placement.cache_nodes=[server] --set evaluate_every=0");
  const auto excess = [&](const Results& results) {
    const auto cache = to_json(results.summary).at("cache");
    const double expected_s =
        cache.at("storage").get<double>() * latency_s + cache.at("storage_bytes").get<double>() / rate;
    EXPECT_GT(expected_s, 0.2);
    return cache.at("storage_time_s").get<double>() / expected_s - 1.0;
  };
  EXPECT_NEAR(excess(simulated_), 0.0, 1e-6);
  EXPECT_GT(excess(measured_), -1e-6) << "an emulated disk never finishes early";
  // Each wait may end late on a busy machine; paying the latency twice would exceed this.
  EXPECT_LT(excess(measured_), 0.8);
}

/// Two cache nodes on one host wait for each other's reads: their disk serves the requests of both, so the
/// reads of the two together take as long as those of one node that reads all.
TEST_F(LongTwins, CacheNodesOfOneHostShareItsDisk) {
  const std::string lab =
      edited_lab(line_, {{"<disk id=\"disk\".*/>",
                          "<disk id=\"disk\" read_bw=\"200MBps\" write_bw=\"150MBps\"><prop "
                          "id=\"tandem:latency\" value=\"2ms\"/><prop id=\"tandem:parallel\" "
                          "value=\"4\"/></disk>"}});
  play("--set platform=" + lab +
       " --set data.source=storage --set data.cache_capacity=0 --set "
       "placement.cache_nodes=[server,server] --set evaluate_every=0");
  const auto blocked_s = [](const Results& results) {
    return results.summary.cache.value().storage_time.count();
  };
  EXPECT_GT(blocked_s(simulated_), 0.1);
  // With a disk for each rank it would be less; on a busy machine, waits end late.
  EXPECT_GT(blocked_s(measured_), 0.95 * blocked_s(simulated_));
  EXPECT_LT(blocked_s(measured_), 4 * blocked_s(simulated_));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
