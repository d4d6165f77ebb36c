// Cache policies that know the lists of all nodes, in both worlds: each node has a worker, and the nodes read
// from each other. They decide the same, deliver the same samples, and a replay decides the same again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/cli/twins.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/paths.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class PlannedTwins : public Twins {
 protected:
  /// Three nodes, of which each holds a quarter of the data set; six epochs.
  void play_cache(const std::string& settings) {
    play(
        "--set platform=" + edited_lab(line_, {disks_of("node-[123]")}) +
        " --set data.source=storage --set data.cache_capacity=10000 --set "
        "data.sampling=shuffled --set "
        "workload.train_samples=48 --set stop.rounds=12 --set placement.workers=[node-1,node-2,node-3] --set "
        "placement.cache_nodes=[node-1,node-2,node-3] --set placement.stores=[server] --set data.prefetch=0 "
        "--set data.peers=plan --set sync.over=all-reduce " +
        settings);
  }
  static std::map<std::pair<Rank, int>, double> losses(const Results& results) {
    std::map<std::pair<Rank, int>, double> by_step;
    for (const StepRecord& step : results.journal.steps) by_step[{step.rank, step.step}] = step.loss;
    return by_step;
  }
  void expect_replayed(const validation::Comparison& comparison) const {
    EXPECT_EQ(comparison.replay.state, validation::Gate::State::passed) << comparison.replay.detail;
    const auto of_caches = [](const Results& results) {
      return std::ranges::count(results.journal.decisions, "cache", &DecisionRecord::side);
    };
    EXPECT_GT(of_caches(measured_), 0);
    EXPECT_GE(comparison.replay.checked, of_caches(measured_) + of_caches(simulated_));
  }
};
using LongPlannedTwins = PlannedTwins;

TEST_P(PlannedTwins, DecideAndDeliverTheSame) {
  play_cache(GetParam());
  const auto cache = to_json(simulated_.summary).at("cache");
  EXPECT_EQ(cache.at("requests"), 12 * 3 * 8);
  EXPECT_GT(cache.at("local"), 0);
  for (const char* key : {"requests", "local", "peer", "peer_misses", "storage"})
    EXPECT_EQ(to_json(measured_.summary).at("cache").value(key, 0), cache.value(key, 0)) << key;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch)
    for (const char* from : {"tier0", "peer", "peer-miss", "store"})
      EXPECT_EQ(cache_sum(measured_.journal, from, epoch).samples,
                cache_sum(simulated_.journal, from, epoch).samples)
          << from << " in epoch " << epoch;
  const auto comparison = validation::compare(simulated_, {measured_});
  // A policy that may read ahead while a node is idle is replayed, though this one does not.
  const bool reads_ahead = GetParam().find("foresight") != std::string::npos;
  EXPECT_EQ(comparison.decisions.state,
            reads_ahead ? validation::Gate::State::not_checked : validation::Gate::State::passed)
      << comparison.decisions.detail;
  expect_replayed(comparison);
  // Real mathematics on the same samples: a wrong one would change the losses.
  EXPECT_EQ(losses(measured_), losses(simulated_));
  EXPECT_EQ(measured_.summary.data.value().coverage, simulated_.summary.data.value().coverage);
  EXPECT_EQ(measured_.summary.data.value().coverage.value().distinct_share, 1.0);
}

INSTANTIATE_TEST_SUITE_P(LongPolicies, PlannedTwins,
                         ::testing::Values("--set data.cache=nopfs",
                                           "--set data.cache=nopfs --set data.disk_capacity=8000",
                                           "--set data.cache=locality-aware",
                                           "--set data.cache=foresight --set "
                                           "'data.cache_options={window: 0.0, package: 1}'"));

/// What is read ahead depends on when nobody waits, so decisions are replayed.
TEST_F(LongPlannedTwins, ReadsAheadReplay) {
  // The caches hold more than the data set, so there is room.
  play_cache(
      "--set data.cache=foresight --set data.cache_capacity=20000 --set 'data.cache_options={window: 0.5}'");
  const auto comparison = validation::compare(simulated_, {measured_});
  expect_replayed(comparison);
  EXPECT_EQ(losses(measured_), losses(simulated_));
  EXPECT_GT(cache_sum(simulated_.journal, "background").samples, 0);
  EXPECT_GT(simulated_.summary.cache.value().peer, 0);
}

/// Lists that repeat what the caches hold when an epoch begins: the same ones in both worlds.
TEST_F(LongPlannedTwins, ListsThatKnowCaches) {
  play(
      "--set data.source=storage --set data.cache=shade --set data.cache_capacity=10000 --set "
      "data.sampling=shade --set workload.train_samples=48 --set "
      "stop.rounds=12 --set placement.workers=[node-1,node-2,node-3] --set "
      "placement.cache_nodes=[node-1,node-2,node-3] --set placement.stores=[server] --set data.prefetch=0 "
      "--set "
      "sync.over=all-reduce");
  EXPECT_EQ(losses(measured_), losses(simulated_));
  for (std::int64_t epoch = 0; epoch < 6; ++epoch)
    for (const char* from : {"tier0", "store"})
      EXPECT_EQ(cache_sum(measured_.journal, from, epoch).samples,
                cache_sum(simulated_.journal, from, epoch).samples)
          << from << " in epoch " << epoch;
  const auto comparison = validation::compare(simulated_, {measured_});
  EXPECT_EQ(comparison.operations.state, validation::Gate::State::passed) << comparison.operations.detail;
  EXPECT_EQ(comparison.decisions.state, validation::Gate::State::passed) << comparison.decisions.detail;
  expect_replayed(comparison);
}

/// The rates of the platform file are in the experiment of both worlds, and so in the one that is replayed.
TEST_F(PlannedTwins, RatesAreThoseOfThePlatform) {
  const auto shown = line_.tandem(
      "show " + line_.experiment("") +
      " --set data.source=storage --set data.cache_capacity=10000 --set data.sampling=shuffled --set "
      "data.cache=nopfs --set data.peers=plan --set placement.workers=[node-1,node-2] --set "
      "placement.cache_nodes=[node-1,node-2] --set placement.stores=[server] --set sync.over=all-reduce "
      "--set "
      "'data.cache_options={store_mb_s: 3.5}'");
  EXPECT_EQ(shown.exit_code, 0) << shown.output;
  for (const char* option : {"memory_mb_s: ", "peer_mb_s: ", "peer_latency_us: "}) {
    const auto at = shown.output.find(option);
    ASSERT_NE(at, std::string::npos) << option << shown.output;
    EXPECT_GT(std::stod(shown.output.substr(at + std::string(option).size())), 0.0) << option;
  }
  EXPECT_NE(shown.output.find("store_mb_s: 3.5"), std::string::npos) << "as stated";
}

/// Two workers of one node, one of the other.
TEST_F(PlannedTwins, NodesOfUnequalPartsAreRefused) {
  const auto refused = line_.tandem(
      "simulate " + line_.experiment("") +
      " --set data.source=storage --set data.cache_capacity=10000 --set data.sampling=shuffled --set "
      "data.cache=locality-aware --set data.peers=plan --set placement.workers=[node-1,node-1,node-2] --set "
      "placement.cache_nodes=[node-1,node-2] --set placement.stores=[server] --set sync.over=all-reduce "
      "--out "
      "refused");
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_NE(refused.output.find(
                "--set: key 'placement.cache_nodes': expected as many workers for each, because cache "
                "policy locality-aware divides the samples of a step equally among the "
                "nodes, found 2 and 1"),
            std::string::npos)
      << refused.output;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
