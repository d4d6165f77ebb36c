// The Dirichlet split: how unevenly classes are distributed over its shards, over many seeds.
#include "policies/sampling/dirichlet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/seeds.hpp"

namespace tandem::sampling {
namespace TANDEM_FILE {

constexpr std::size_t classes = 10;

/// Class c has about the share (c + 1) / 55.
std::vector<std::uint16_t> uneven_labels(std::size_t samples) {
  std::vector<std::uint16_t> labels;
  while (labels.size() < samples)
    for (std::size_t label = 0; label < classes; ++label)
      labels.insert(labels.end(), label + 1, static_cast<std::uint16_t>(label));
  labels.resize(samples);
  return labels;
}

std::vector<std::uint16_t> even_labels(std::size_t samples) {
  std::vector<std::uint16_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<std::uint16_t>(i % classes);
  return labels;
}

Shards deal(const std::vector<std::uint16_t>& labels, int workers, std::uint64_t seed, double alpha) {
  return dirichlet({.samples = static_cast<std::int64_t>(labels.size()),
                    .labels = labels,
                    .workers = workers,
                    .seed = seed,
                    .options = Options::resolve("dirichlet", dirichlet_options(), {{"alpha", alpha}})});
}

std::vector<double> class_shares(const std::vector<SampleId>& shard,
                                 const std::vector<std::uint16_t>& labels) {
  std::vector<double> shares(classes, 0.0);
  for (const SampleId id : shard)
    shares[labels[static_cast<std::size_t>(id)]] += 1.0 / static_cast<double>(shard.size());
  return shares;
}

/// The share of a worker's most frequent class in its shard, averaged over workers.
double concentration(const Shards& shards, const std::vector<std::uint16_t>& labels) {
  double sum = 0.0;
  for (const auto& shard : shards) {
    const auto shares = class_shares(shard, labels);
    sum += *std::max_element(shares.begin(), shares.end());
  }
  return sum / static_cast<double>(shards.size());
}

/// 4 + 2 + 1 parts of 700 samples beyond one for each worker: 401, 201, 101.
TEST(Dirichlet, ShardsFallByTheSameFactorToTheRatio) {
  Setting setting{.samples = 703,
                  .labels = {},
                  .workers = 3,
                  .seed = 1,
                  .options = Options::resolve("dirichlet", dirichlet_options(), {{"ratio", 4.0}})};
  EXPECT_EQ(dirichlet_sizes(setting), (std::vector<std::int64_t>{401, 201, 101}));
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    setting.workers = 1 + static_cast<int>(rng.below(20));
    setting.samples = static_cast<std::int64_t>(rng.below(400));
    const auto labels = uneven_labels(static_cast<std::size_t>(setting.samples));
    setting.labels = labels;
    setting.options =
        Options::resolve("dirichlet", dirichlet_options(), {{"ratio", 1.0 + 99.0 * rng.uniform()}});
    const auto sizes = dirichlet_sizes(setting);
    const auto shards = dirichlet(setting);
    ASSERT_EQ(shards.size(), sizes.size());
    std::vector<SampleId> all, expected(static_cast<std::size_t>(setting.samples));
    for (std::size_t worker = 0; worker < shards.size(); ++worker) {
      EXPECT_EQ(std::ssize(shards[worker]), sizes[worker]);
      EXPECT_GE(sizes[worker], setting.samples < setting.workers ? 0 : 1);
      all.insert(all.end(), shards[worker].begin(), shards[worker].end());
    }
    std::ranges::sort(all);
    std::iota(expected.begin(), expected.end(), SampleId{0});
    EXPECT_EQ(all, expected);
  }
}

TEST(Dirichlet, OfLargeAlphaHasTheClassSharesOfTheDataSet) {
  const auto labels = uneven_labels(22'000);
  std::vector<SampleId> all(labels.size());
  std::iota(all.begin(), all.end(), SampleId{0});
  const auto whole = class_shares(all, labels);
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    for (const auto& shard : deal(labels, 8, seed, 1e6)) {
      const auto shares = class_shares(shard, labels);
      for (std::size_t label = 0; label < classes; ++label) {
        // Six standard deviations of drawing 2750 samples.
        const double deviation = std::sqrt(whole[label] * (1.0 - whole[label]) / 2750.0);
        EXPECT_NEAR(shares[label], whole[label], 6.0 * deviation) << "class " << label;
      }
    }
  }
}

TEST(Dirichlet, OfSmallAlphaGivesMostWorkersOneClass) {
  const auto labels = even_labels(20'000);
  double sum = 0.0;
  const auto seeds = testing::seeds(20);
  // There are twice as many workers as classes; a class that more than two workers draw runs out.
  for (const auto seed : seeds) sum += concentration(deal(labels, 20, seed, 1e-3), labels);
  EXPECT_GT(sum / static_cast<double>(seeds.size()), 0.6);
}

TEST(Dirichlet, SmallerAlphaConcentratesMore) {
  const auto labels = even_labels(10'000);
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    double last = 1.0;
    for (const double alpha : {0.01, 1.0, 10.0, 1000.0}) {
      const double now = concentration(deal(labels, 20, seed, alpha), labels);
      EXPECT_LT(now, last) << "alpha " << alpha;
      last = now;
    }
    EXPECT_LT(last, 0.17);
  }
}

/// A share p has variance p (1 - p) / (alpha + 1), plus the variance of drawing samples. With this many
/// workers the total demand for every class is about equal, and none runs out early.
TEST(Dirichlet, SharesHaveTheVarianceOfTheDistribution) {
  constexpr double alpha = 40.0;
  constexpr double samples_each = 100.0;
  const auto labels = even_labels(20'000);
  double squares = 0.0, count = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const auto& shard : deal(labels, 200, seed, alpha))
      for (const double share : class_shares(shard, labels)) {
        squares += (share - 0.1) * (share - 0.1);
        count += 1.0;
      }
  const double expected = 0.09 / (alpha + 1.0) * (1.0 + alpha / samples_each);
  EXPECT_NEAR(squares / count, expected, 0.1 * expected);
}

TEST(Dirichlet, DependsOnTheSeed) {
  const auto labels = even_labels(1'000);
  EXPECT_NE(deal(labels, 4, 1, 0.5), deal(labels, 4, 2, 0.5));
}

TEST(Dirichlet, RefusesInvalidAlpha) {
  for (const double alpha : {0.0, -1.0, 1e7})
    EXPECT_THROW(deal(even_labels(10), 2, 1, alpha), OptionError) << alpha;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sampling
