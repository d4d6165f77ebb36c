// Splits and samplers: every sample exactly once, seeded, balanced.
#include "policies/sampling/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sampling {
namespace TANDEM_FILE {

std::vector<std::uint16_t> random_labels(Rng& rng, std::int64_t samples, std::uint64_t classes) {
  std::vector<std::uint16_t> labels(static_cast<std::size_t>(samples));
  for (auto& label : labels) label = static_cast<std::uint16_t>(rng.below(classes));
  return labels;
}

/// With the default options.
Setting setting_of(const std::string& split, std::int64_t samples, std::span<const std::uint16_t> labels,
                   int workers, std::uint64_t seed) {
  return {.samples = samples,
          .labels = labels,
          .workers = workers,
          .seed = seed,
          .options = Options::resolve(split, splits().find(split).options, {})};
}
Shards deal(const std::string& split, std::int64_t samples, std::span<const std::uint16_t> labels,
            int workers, std::uint64_t seed) {
  return splits().find(split).make.deal(setting_of(split, samples, labels, workers, seed));
}

class Splits : public ::testing::TestWithParam<std::string> {};

TEST_P(Splits, GiveEverySampleToOneWorkerOrToAll) {
  const bool replicates = splits().find(GetParam()).make.replicates;
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto samples = static_cast<std::int64_t>(rng.below(500));
    const int workers = 1 + static_cast<int>(rng.below(40));
    const auto labels = random_labels(rng, samples, 1 + rng.below(10));
    const auto shards = deal(GetParam(), samples, labels, workers, seed);
    ASSERT_EQ(shards.size(), static_cast<std::size_t>(workers));
    std::vector<SampleId> expected(static_cast<std::size_t>(samples));
    std::iota(expected.begin(), expected.end(), SampleId{0});
    std::vector<SampleId> all;
    std::vector<std::int64_t> sizes;
    for (const auto& shard : shards) {
      const auto size = static_cast<std::int64_t>(shard.size());
      sizes.push_back(size);
      EXPECT_GE(size, replicates ? samples : samples / workers);
      EXPECT_LE(size, replicates ? samples : (samples + workers - 1) / workers);
      all.insert(all.end(), shard.begin(), shard.end());
    }
    EXPECT_EQ(splits().find(GetParam()).make.sizes(setting_of(GetParam(), samples, {}, workers, seed)),
              sizes);
    if (replicates) all = shards[rng.below(shards.size())];
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, expected);
    EXPECT_EQ(deal(GetParam(), samples, labels, workers, seed), shards) << "not deterministic";
  }
}

TEST_P(Splits, NeedLabelsOnlyIfDeclared) {
  if (!splits().find(GetParam()).make.needs_labels) {
    EXPECT_EQ(deal(GetParam(), 6, {}, 2, 1).size(), 2U);
    return;
  }
  try {
    deal(GetParam(), 6, {}, 2, 1);
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(),
              "split '" + GetParam() + "': expected a label for each of the 6 samples, found 0");
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Splits, ::testing::ValuesIn(splits().names()), testing::catalog_name);

TEST(IidSplit, DependsOnTheSeed) { EXPECT_NE(deal("iid", 1000, {}, 4, 1), deal("iid", 1000, {}, 4, 2)); }

TEST(IidSplit, GivesEachWorkerAboutItsShareOfEachClass) {
  const auto shards = deal("iid", 60'000, {}, 6, 3);
  for (const auto& shard : shards) {
    std::map<SampleId, int> by_class;  // class of sample i: i mod 10
    for (const SampleId id : shard) ++by_class[id % 10];
    // Hypergeometric, mean 1000, deviation 27: six deviations.
    for (const auto& [label, count] : by_class) EXPECT_NEAR(count, 1000, 165) << "class " << label;
  }
}

TEST(ByClassSplit, GivesSixWorkersTheClassesOfThePublishedSplit) {
  Rng rng(11);
  std::vector<std::uint16_t> labels(60'000);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint16_t>(i % 10);
  rng.shuffle(labels);
  const auto shards = deal("by-class", 60'000, labels, 6, 1);
  const auto classes_of = [&](std::size_t worker) {
    std::map<int, int> counts;
    for (const SampleId id : shards[worker]) ++counts[labels[static_cast<std::size_t>(id)]];
    return counts;
  };
  EXPECT_EQ(classes_of(0), (std::map<int, int>{{0, 6000}, {1, 4000}}));
  EXPECT_EQ(classes_of(1), (std::map<int, int>{{1, 2000}, {2, 6000}, {3, 2000}}));
  EXPECT_EQ(classes_of(2), (std::map<int, int>{{3, 4000}, {4, 6000}}));
}

/// Ten classes of 120 samples for twelve workers: no worker is without samples, and no class has only one
/// worker.
TEST(ByClassSplit, CutsClassesAmongMoreWorkers) {
  std::vector<std::uint16_t> labels(1200);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint16_t>(i % 10);
  const auto shards = deal("by-class", 1200, labels, 12, 1);
  std::map<int, int> workers_of_class;
  for (const auto& shard : shards) {
    std::map<int, int> counts;
    for (const SampleId id : shard) ++counts[labels[static_cast<std::size_t>(id)]];
    EXPECT_EQ(shard.size(), 100U);
    EXPECT_LE(counts.size(), 2U);
    for (const auto& [label, count] : counts) ++workers_of_class[label];
  }
  EXPECT_EQ(shards.size(), 12U);
  for (const auto& [label, workers] : workers_of_class) EXPECT_GE(workers, 2) << label;
}

TEST(ByClassSplit, KeepsTheOriginalOrderInsideAClass) {
  std::vector<std::uint16_t> labels(1000);
  std::vector<SampleId> expected;
  for (const std::size_t label : {0U, 1U, 2U})
    for (std::size_t id = 0; id < labels.size(); ++id)
      if ((id * 7) % 3 == label) {
        labels[id] = static_cast<std::uint16_t>(label);
        expected.push_back(static_cast<SampleId>(id));
      }
  EXPECT_EQ(deal("by-class", 1000, labels, 1, 1), (Shards{expected}));
}

TEST(ShardVisits, SkippingEqualsVisiting) {
  for (const int size : {1, 7, 50})
    for (const int first : {0, 3, 7})
      for (const int skipped : {0, 1, 4, 7, 50, 64, 100, 343}) {
        SCOPED_TRACE(std::to_string(size) + " " + std::to_string(first) + " " + std::to_string(skipped));
        std::vector<SampleId> shard(static_cast<std::size_t>(size));
        std::iota(shard.begin(), shard.end(), SampleId{100});
        ShardVisits visits(shard, 5, 1), skips(shard, 5, 1);
        std::vector<SampleId> expected, found;
        for (ShardVisits* sampler : {&visits, &skips}) sampler->next(first, found);
        visits.next(skipped, expected);
        skips.skip(skipped);
        EXPECT_EQ(skips.epoch(), visits.epoch());
        visits.next(120, expected);
        skips.next(120, found);
        EXPECT_EQ(found, expected);
      }
}

TEST(ShardVisits, VisitsEachSampleOnceAnEpochAcrossBatches) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto size = 1 + static_cast<SampleId>(rng.below(50));
    const int batch_size = 1 + static_cast<int>(rng.below(70));
    std::vector<SampleId> shard;
    for (SampleId i = 0; i < size; ++i) shard.push_back(1000 + 3 * i);
    ShardVisits sampler(shard, seed, 2);
    std::vector<SampleId> visited;
    std::vector<SampleId> batch;
    std::vector<std::int32_t> epochs;
    while (visited.size() < 5 * shard.size()) {
      sampler.next(batch_size, batch, &epochs);
      ASSERT_EQ(batch.size(), static_cast<std::size_t>(batch_size));
      ASSERT_EQ(epochs.size(), batch.size());
      for (std::size_t i = 0; i < epochs.size(); ++i)
        EXPECT_EQ(epochs[i], static_cast<std::int32_t>((visited.size() + i) / shard.size()));
      visited.insert(visited.end(), batch.begin(), batch.end());
      EXPECT_EQ(sampler.epoch(), static_cast<int>((visited.size() - 1) / shard.size()));
    }
    for (std::size_t begin = 0; begin + shard.size() <= visited.size(); begin += shard.size()) {
      const auto from = visited.begin() + static_cast<std::ptrdiff_t>(begin);
      std::vector<SampleId> epoch(from, from + static_cast<std::ptrdiff_t>(shard.size()));
      std::sort(epoch.begin(), epoch.end());
      EXPECT_EQ(epoch, shard);
    }
  }
}

TEST(ShardVisits, OrderDependsOnSeedWorkerAndEpochButNotOnBatchSizes) {
  std::vector<SampleId> shard(100);
  std::iota(shard.begin(), shard.end(), SampleId{0});
  const auto visits = [&](std::uint64_t seed, int worker, int batch_size) {
    ShardVisits sampler(shard, seed, worker);
    std::vector<SampleId> all;
    std::vector<SampleId> batch;
    while (all.size() < 200) {
      sampler.next(batch_size, batch);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    return all;
  };
  const auto reference = visits(1, 0, 10);
  EXPECT_EQ(visits(1, 0, 50), reference);
  EXPECT_NE(visits(2, 0, 10), reference);
  EXPECT_NE(visits(1, 1, 10), reference);
  EXPECT_NE(std::vector<SampleId>(reference.begin(), reference.begin() + 100),
            std::vector<SampleId>(reference.begin() + 100, reference.end()));
}

TEST(SamplerDeathTest, AnEmptyShardIsAProgrammersError) {
  EXPECT_DEATH(ShardVisits({}, 1, 3), "internal check failed.*\n.*\n.*worker 3");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sampling
