// Replays of traces: miss ratios equal to those that libCacheSim printed, the bound of Belady, and the same
// decisions as the policy of a cache node.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/cache/trace.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/policies/cache/one_by_one.hpp"
#include "tests/policies/cache/oracle_traces.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

NumberedTrace numbered(const std::vector<testing::NamedRequest>& requests, bool has_sizes) {
  NumberedTrace trace;
  for (const auto& [id, size] : requests) trace.add(static_cast<std::uint64_t>(id), has_sizes ? size : 1);
  trace.find_next_requests();
  return trace;
}

Counts replay(const std::string& policy, const NumberedTrace& trace, std::int64_t capacity,
              const std::map<std::string, OptionValue>& options = {}) {
  const auto& entry = trace_catalog().find(policy);
  return entry.make.replay(trace.view(), {.capacity = Bytes(capacity),
                                          .options = Options::resolve(policy, entry.options, options)});
}

struct OracleRow {
  std::string trace;
  bool has_sizes;
  std::int64_t capacity;
  std::string policy;
  double miss_ratio;
};

std::vector<OracleRow> oracle_rows() {
  std::ifstream file(testing::source_folder() + "/tests/policies/cache/libcachesim.csv");
  std::string line;
  std::getline(file, line);
  std::vector<OracleRow> rows;
  while (std::getline(file, line)) {
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    std::string sizes;
    OracleRow row;
    words >> row.trace >> sizes >> row.capacity >> row.policy >> row.miss_ratio;
    row.has_sizes = sizes == "bytes";
    if (row.policy == "twoq") row.policy = "two-q";
    if (row.policy == "wtinylfu") row.policy = "w-tinylfu";
    if (row.policy == "s3fifo") row.policy = "s3-fifo";
    rows.push_back(row);
  }
  return rows;
}

/// Three orders differ by definition. Its random draws from buckets of a hash table, so not uniformly (ours
/// has the closed form below). In bytes its ARC moves the target by one byte for a request of any size (with
/// that rule ours has 0.589 where it has 0.578), and its SLRU lets segments overflow (not known how).
double largest_difference(const OracleRow& row) {
  if (row.policy == "random") return 0.055;
  if (row.policy == "lhd") return 0.065;
  // Its sketch is a counting Bloom filter. On the trace with scans the estimates differ most.
  if (row.policy == "w-tinylfu") return row.trace == "mixed" ? 0.13 : row.trace == "epochs" ? 0.03 : 0.01;
  if (row.has_sizes && row.policy == "arc") return 0.056;
  if (row.has_sizes && row.policy == "slru") return 0.0045;
  return 0.001;
}

/// Its defaults, where ours are those of the paper.
std::map<std::string, OptionValue> libcachesim_options(const std::string& policy) {
  if (policy != "w-tinylfu") return {};
  return {{"segments", std::int64_t{4}}, {"protected", 0.75}, {"most", std::int64_t{255}}, {"aging", 32.0},
          {"count-window", false},       {"chance", 0.0}};
}

/// Compares the rows whose trace `is_chosen`. Returns how many.
int expect_same_miss_ratios(const std::function<bool(const std::string& trace)>& is_chosen) {
  std::map<std::pair<std::string, bool>, NumberedTrace> traces;
  const auto known = trace_catalog().names();
  int compared = 0;
  for (const auto& row : oracle_rows()) {
    if (!is_chosen(row.trace) || std::ranges::find(known, row.policy) == known.end()) continue;
    const auto key = std::pair(row.trace, row.has_sizes);
    if (!traces.contains(key)) traces.emplace(key, numbered(testing::oracle_trace(row.trace), row.has_sizes));
    const double own =
        replay(row.policy, traces.at(key), row.capacity, libcachesim_options(row.policy)).miss_ratio();
    EXPECT_NEAR(own, row.miss_ratio, largest_difference(row))
        << row.trace << (row.has_sizes ? " in bytes, " : ", ") << row.policy << ", capacity " << row.capacity;
    ++compared;
  }
  return compared;
}

TEST(LibCacheSim, HasTheSameMissRatiosOnEpochs) {
  EXPECT_GT(expect_same_miss_ratios([](const std::string& trace) { return trace == "epochs"; }), 17);
}

TEST(LongLibCacheSim, HasTheSameMissRatios) {
  EXPECT_GT(expect_same_miss_ratios([](const std::string&) { return true; }), 70);
}

/// Warm hit ratios on independently shuffled epochs with a share c of the samples in the cache.
TEST(ClosedForms, OfShuffledEpochs) {
  constexpr std::int64_t samples = 5000;
  constexpr int cold = 5, epochs = 65;
  Rng rng(1);
  std::vector<SampleId> ids(samples);
  std::iota(ids.begin(), ids.end(), SampleId{0});
  NumberedTrace start, all;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    rng.shuffle(ids);
    for (const SampleId id : ids) {
      if (epoch < cold) start.add(static_cast<std::uint64_t>(id), 1);
      all.add(static_cast<std::uint64_t>(id), 1);
    }
  }
  start.find_next_requests();
  all.find_next_requests();
  for (const double c : {0.2, 0.6}) {
    const std::map<std::string, double> expected = {
        {"lru", c + (1 - c) * std::log(1 - c)},
        {"fifo", c <= 1 - std::exp(-1) ? -c - std::log(1 - c) : 1 - (std::exp(1) - 1) * (1 - c)},
        {"random", -c * std::log(1 - c + c * std::exp(-1 / c))},
        {"minio", c},
        {"belady", c}};
    for (const auto& [policy, ratio] : expected) {
      const auto capacity = static_cast<std::int64_t>(c * samples);
      // Belady decides by the future, which a shorter trace lacks, but has the same number of hits in it.
      const auto hits = replay(policy, all, capacity).hits - replay(policy, start, capacity).hits;
      EXPECT_NEAR(static_cast<double>(hits) / (samples * (epochs - cold)), ratio, 0.002)
          << policy << ' ' << c;
    }
  }
}

NumberedTrace random_trace(Rng& rng, std::int64_t largest) {
  NumberedTrace trace;
  std::map<std::uint64_t, std::int64_t> sizes;
  for (int i = 0; i < 3000; ++i) {
    const auto id = static_cast<std::uint64_t>(rng.uniform() * rng.uniform() * 120);
    const auto size = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(largest))) + 1;
    trace.add(id, sizes.emplace(id, size).first->second);
  }
  trace.find_next_requests();
  return trace;
}

class Replays : public ::testing::TestWithParam<std::string> {};

TEST_P(Replays, StayWithinTheCapacityAndCountEachRequest) {
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto trace = random_trace(rng, 40);
    const auto capacity = static_cast<std::int64_t>(1 + rng.below(800));
    const Counts counts = replay(GetParam(), trace, capacity);
    EXPECT_EQ(counts.requests, 3000);
    EXPECT_LE(counts.largest_used, capacity);
    EXPECT_LE(counts.hits, counts.requests - trace.objects());
    EXPECT_GE(counts.hit_bytes, counts.hits);
    EXPECT_LT(counts.hit_bytes, counts.bytes);
  }
}

TEST_P(Replays, NeverBeatBeladyOnEqualSizes) {
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto trace = random_trace(rng, 1);
    const auto capacity = static_cast<std::int64_t>(1 + rng.below(60));
    EXPECT_LE(replay(GetParam(), trace, capacity).hits, replay("belady", trace, capacity).hits);
  }
}

/// The order is one class, but its table of ids is another.
TEST_P(Replays, DecideAsTheCacheNode) {
  const auto& nodes = catalog().names();
  if (std::ranges::find(nodes, GetParam()) == nodes.end()) GTEST_SKIP() << "for traces only";
  for (const auto seed : testing::seeds(50)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto trace = random_trace(rng, 40);
    const Bytes capacity(static_cast<std::int64_t>(rng.below(800)));
    const auto node = testing::make_policy(GetParam(), capacity);
    std::int64_t hits = 0;
    for (const auto& [id, size] : trace.view().requests)
      hits += testing::access(*node, id, Bytes(size)).is_hit ? 1 : 0;
    EXPECT_EQ(replay(GetParam(), trace, capacity.count()).hits, hits);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Replays, ::testing::ValuesIn(trace_catalog().names()),
                         testing::catalog_name);

TEST(Belady, WithoutBypassInsertsEverySample) {
  // Two slots: 3 and 4 are bypassed; otherwise each of them evicts what is requested last.
  NumberedTrace trace;
  for (const std::uint64_t id : {1, 2, 3, 1, 2, 4, 1, 2}) trace.add(id, 1);
  trace.find_next_requests();
  EXPECT_EQ(replay("belady", trace, 2).hits, 4);
  EXPECT_EQ(replay("belady", trace, 2, {{"bypass", false}}).hits, 2);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
