// Every sharding policy assigns each element exactly once, and meets its guarantee on the loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <ostream>

#include "policies/sharding/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::sharding {
namespace TANDEM_FILE {

std::vector<Holding> deal(const std::string& name, const Setting& setting, const OptionValue& large = {}) {
  const auto& policy = catalog().find(name);
  Setting complete = setting;
  std::map<std::string, OptionValue> given;
  if (std::holds_alternative<std::int64_t>(large)) given["large"] = large;
  complete.options = Options::resolve(name, policy.options, given);
  return policy.make(complete);
}

/// A model with one bucket, and with tensors of these sizes.
Setting one_bucket(const std::vector<std::int64_t>& sizes, int shards) {
  Setting setting{.buckets = {}, .tensors = {}, .shards = shards};
  std::int64_t at = 0;
  for (const auto size : sizes) {
    setting.tensors.push_back({at, at + size});
    at += size;
  }
  setting.buckets = {{0, at}};
  return setting;
}

/// Buckets of a few tensors each, separated by gaps as if some elements were not exchanged; in random order.
Setting random_setting(Rng& rng) {
  Setting setting{.buckets = {}, .tensors = {}, .shards = 1 + static_cast<int>(rng.below(9))};
  std::int64_t at = 0;
  for (auto buckets = 1 + rng.below(6); buckets > 0; --buckets) {
    const std::int64_t begin = at;
    for (auto tensors = 1 + rng.below(7); tensors > 0; --tensors) {
      const auto size = static_cast<std::int64_t>(1 + rng.below(rng.below(3) == 0 ? 3'000'000 : 40));
      setting.tensors.push_back({at, at + size});
      at += size;
    }
    setting.buckets.push_back({begin, at});
    at += static_cast<std::int64_t>(rng.below(2) * rng.below(100));
  }
  rng.shuffle(setting.tensors);
  return setting;
}

std::int64_t elements(const Setting& setting) {
  return std::accumulate(setting.buckets.begin(), setting.buckets.end(), std::int64_t{0},
                         [](std::int64_t sum, const Piece& bucket) { return sum + bucket.size(); });
}

class EveryPolicy : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPolicy, HoldsEachElementOnce) {
  for (const auto seed : testing::seeds(300)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const Setting setting = random_setting(rng);
    auto holdings = deal(GetParam(), setting);
    ASSERT_EQ(holdings, deal(GetParam(), setting)) << "not deterministic";
    const auto sums = loads(holdings, setting.shards);
    EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}), elements(setting));
    std::sort(holdings.begin(), holdings.end(),
              [](const Holding& a, const Holding& b) { return a.piece.begin < b.piece.begin; });
    auto next = holdings.begin();
    for (const Piece& bucket : setting.buckets)
      for (std::int64_t at = bucket.begin; at < bucket.end; at = next++->piece.end) {
        ASSERT_NE(next, holdings.end());
        ASSERT_EQ(next->piece.begin, at);
        ASSERT_GT(next->piece.size(), 0);
        ASSERT_LE(next->piece.end, bucket.end);
      }
    EXPECT_EQ(next, holdings.end());
  }
}

TEST_P(EveryPolicy, GivesAllToASingleShard) {
  for (const auto& [piece, shard] : deal(GetParam(), one_bucket({5, 2'000'000, 1}, 1))) EXPECT_EQ(shard, 0);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryPolicy, ::testing::ValuesIn(catalog().names()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Even, SplitsEachBucketEvenlyToOneElement) {
  Setting setting = one_bucket({10, 3}, 4);
  setting.buckets = {{0, 10}, {20, 23}};
  const std::vector<Holding> expected = {{{0, 3}, 0},   {{3, 6}, 1},   {{6, 8}, 2},  {{8, 10}, 3},
                                         {{20, 21}, 0}, {{21, 22}, 1}, {{22, 23}, 2}};
  EXPECT_EQ(deal("even", setting), expected);
}

TEST(RoundRobin, TakesTensorsInForwardOrder) {
  Setting setting = one_bucket({7, 1, 2, 9}, 3);
  std::reverse(setting.tensors.begin(), setting.tensors.end());
  const std::vector<Holding> expected = {{{10, 19}, 0}, {{8, 10}, 1}, {{7, 8}, 2}, {{0, 7}, 0}};
  EXPECT_EQ(deal("round-robin", setting), expected);
}

TEST(Balanced, GivesTheLargestFirstAndTiesToTheLowest) {
  // 8 to shard 0, 5 to 1, the first 4 to 1 (9), the second to 0 (12), 3 to 1 (12), 1 to 0.
  const std::vector<Holding> expected = {{{5, 13}, 0},  {{0, 5}, 1},   {{13, 17}, 1},
                                         {{18, 22}, 0}, {{22, 25}, 1}, {{17, 18}, 0}};
  EXPECT_EQ(deal("balanced", one_bucket({5, 8, 4, 1, 4, 3}, 2)), expected);
}

/// The smallest possible maximum load of whole tensors, by exhaustive search.
std::int64_t best_load(const std::vector<std::int64_t>& sizes, std::vector<std::int64_t>& sums,
                       std::size_t next = 0) {
  if (next == sizes.size()) return *std::max_element(sums.begin(), sums.end());
  auto best = std::numeric_limits<std::int64_t>::max();
  for (auto& sum : sums) {
    sum += sizes[next];
    best = std::min(best, best_load(sizes, sums, next + 1));
    sum -= sizes[next];
  }
  return best;
}

TEST(Balanced, IsWithinItsBoundOfTheOptimum) {
  double worst = 0.0;
  for (const auto seed : testing::seeds(400)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const int shards = 2 + static_cast<int>(rng.below(2));
    std::vector<std::int64_t> sizes(3 + rng.below(6));
    for (auto& size : sizes) size = static_cast<std::int64_t>(1 + rng.below(30));
    std::vector<std::int64_t> sums(static_cast<std::size_t>(shards));
    const auto best = static_cast<double>(best_load(sizes, sums));
    const auto found = loads(deal("balanced", one_bucket(sizes, shards)), shards);
    const auto largest = static_cast<double>(*std::max_element(found.begin(), found.end()));
    EXPECT_LE(largest, (4.0 / 3 - 1.0 / (3 * shards)) * best + 1e-9);
    worst = std::max(worst, largest / best);
  }
  EXPECT_TRUE(worst > 1.0 || testing::seeds(2).size() == 1) << "no case was worse than the optimum";
}

TEST(Split, SplitsOnlyLargeTensors) {
  const std::vector<Holding> expected = {{{0, 9}, 0},   {{9, 13}, 0},  {{13, 16}, 1},
                                         {{16, 19}, 2}, {{19, 28}, 1}, {{28, 29}, 2}};
  EXPECT_EQ(deal("split", one_bucket({9, 10, 9, 1}, 3), std::int64_t{10}), expected);
}

TEST(Split, SplitsFromOneMillionElementsByDefault) {
  EXPECT_EQ(deal("split", one_bucket({999'999}, 2)).size(), 1U);
  EXPECT_EQ(deal("split", one_bucket({1'000'000}, 2)).size(), 2U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sharding
