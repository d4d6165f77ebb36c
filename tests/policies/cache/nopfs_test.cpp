// NoPFS: what each node plans to keep, and that of all nodes one reads a sample from the store.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "policies/cache/training/frequency_plan.hpp"
#include "policies/cache/training/shares.hpp"
#include "policies/cache/training/stated_rates.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

/// By epoch and node.
using Lists = std::vector<std::vector<std::vector<SampleId>>>;

class GivenPlan : public SharedPlan {
 public:
  explicit GivenPlan(Lists lists) : lists_(std::move(lists)) {}
  std::int64_t epochs() const override { return std::ssize(lists_); }
  void list(int, std::int64_t epoch, int node, std::vector<SampleId>& ids) const override {
    ++calls;
    ids = lists_.at(static_cast<std::size_t>(epoch)).at(static_cast<std::size_t>(node));
  }
  std::shared_ptr<const FrequencyPlan> by_frequency(const Setting& setting) const override {
    if (!by_frequency_) by_frequency_ = std::make_shared<const FrequencyPlan>(plan_by_frequency(setting));
    return by_frequency_;
  }
  mutable int calls = 0;

 private:
  mutable std::shared_ptr<const FrequencyPlan> by_frequency_;
  Lists lists_;
};

std::vector<std::pair<SampleId, int>> kept(const FrequencyPlan& plan, std::size_t node) {
  std::vector<std::pair<SampleId, int>> all;
  for (const auto& [id, tier] : plan.of_node[node]) all.emplace_back(id, tier);
  return all;
}

/// Node 0 uses 5 twice, and 1, 2, 0, 3, 4 once in this order; node 1 uses 0 and 4 twice, and 3, 1, 2 once.
/// Memory holds two samples and the disk one.
TEST(FrequencyPlan, IsTheOneOfTheModel) {
  const GivenPlan plan(Lists{{{1, 5, 2}, {0, 4, 3}}, {{0, 5, 3}, {4, 1, 2}}, {{4}, {0}}});
  const FrequencyPlan all = plan_by_frequency({.tiers = {Bytes(2), Bytes(1)},
                                               .nodes = 2,
                                               .manifest = {.samples = 6, .each = Bytes(1)},
                                               .plan = &plan});
  using Kept = std::vector<std::pair<SampleId, int>>;
  // Most often used, then first used: 5, 1 | 2. In the order of first use: 1, 5, 2.
  EXPECT_EQ(kept(all, 0), (Kept{{1, 0}, {5, 0}, {2, 1}}));
  // 0, 4 | 3.
  EXPECT_EQ(kept(all, 1), (Kept{{0, 0}, {4, 0}, {3, 1}}));
  EXPECT_EQ(all.reader, (std::vector<std::int16_t>{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(all.reader_tier, (std::vector<std::int8_t>{0, 0, 1, 1, 0, 0}));
}

/// A sample that does not fit any more leaves its room to smaller ones.
TEST(FrequencyPlan, FillsTiersByBytes) {
  const GivenPlan plan(Lists{{{0, 1, 2}}, {{0, 1, 2}}});
  const std::vector<Bytes> sizes = {Bytes(3), Bytes(4), Bytes(1)};
  const FrequencyPlan all =
      plan_by_frequency({.tiers = {Bytes(4)}, .manifest = {.samples = 3, .sizes = sizes}, .plan = &plan});
  EXPECT_EQ(kept(all, 0), (std::vector<std::pair<SampleId, int>>{{0, 0}, {2, 0}}));
  EXPECT_EQ(all.reader[1], nobody);
}

/// A faster tier wins, then an earlier first use, then the lower node.
TEST(FrequencyPlan, ChoosesOneReaderOfEachSample) {
  const GivenPlan plan(Lists{{{0, 1}, {1, 2}, {2, 0}}, {{3}, {3}, {3}}});
  const FrequencyPlan all = plan_by_frequency({.tiers = {Bytes(1), Bytes(2)},
                                               .nodes = 3,
                                               .manifest = {.samples = 4, .each = Bytes(1)},
                                               .plan = &plan});
  // Each has its first sample in memory, the others on its disk.
  EXPECT_EQ(all.reader, (std::vector<std::int16_t>{0, 1, 2, 0}));
}

struct Reads {
  std::map<SampleId, int> from_store;
  int from_peers = 0;
};

/// All nodes start.
Reads read_ahead(const Plan& plan, int nodes, std::int64_t samples, Bytes capacity) {
  static const Rates rates{.tiers = {{BytesPerSecond(1e9), Seconds(0)}},
                           .peer = {BytesPerSecond(1e6), Seconds(0)},
                           .store = {BytesPerSecond(1e5), Seconds(0)}};
  Reads reads;
  const auto& entry = catalog().find("nopfs");
  for (int node = 0; node < nodes; ++node) {
    const auto policy = entry.make.node({.tiers = {capacity},
                                         .node = node,
                                         .nodes = nodes,
                                         .manifest = {.samples = samples, .each = Bytes(1)},
                                         .rates = &rates,
                                         .plan = &plan,
                                         .options = Options::resolve("nopfs", entry.options, {})});
    Decisions decisions;
    policy->on_job({}, decisions);
    for (const Fetch& fetch : decisions.fetch)
      for (const SampleId id : decisions.ids_of(fetch)) {
        if (fetch.from.where == Where::store)
          ++reads.from_store[id];
        else
          ++reads.from_peers;
        EXPECT_TRUE(policy->holds(id));
      }
  }
  return reads;
}

/// Whatever the nodes use, and how little fits.
TEST(NoPfs, ReadsNoSampleFromTheStoreTwiceInAdvance) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const int nodes = 1 + static_cast<int>(rng.below(4));
    const auto samples = static_cast<std::int64_t>(10 + rng.below(60));
    const auto fitting = seed % 2 == 0 ? samples : static_cast<std::int64_t>(1 + rng.below(20));
    Lists lists(1 + rng.below(5));
    std::set<SampleId> used;
    for (auto& epoch : lists) {
      epoch.resize(static_cast<std::size_t>(nodes));
      for (SampleId id = 0; id < samples; ++id) {
        epoch[rng.below(static_cast<std::uint64_t>(nodes))].push_back(id);
        used.insert(id);
      }
      for (auto& list : epoch) rng.shuffle(list);
    }
    const GivenPlan plan(lists);
    const Reads reads = read_ahead(plan, nodes, samples, Bytes(fitting));
    for (const auto& [id, count] : reads.from_store) EXPECT_EQ(count, 1) << id;
    // Where all fits, the store is read once, and never again.
    if (fitting == samples) {
      EXPECT_EQ(reads.from_store.size(), used.size());
    }
    if (nodes == 1) {
      EXPECT_EQ(reads.from_peers, 0);
    }
    EXPECT_EQ(plan.calls, nodes * static_cast<int>(lists.size())) << "all nodes share one plan";
  }
}

TEST(StatedRates, AreThoseOfOptionsBeforeThoseOfTheSetting) {
  const auto options = [](std::map<std::string, OptionValue> given) {
    return Options::resolve("nopfs", rate_options(), given);
  };
  const Rates known{.tiers = {{BytesPerSecond(5), Seconds(1)}},
                    .peer = {BytesPerSecond(6), Seconds(2)},
                    .store = {BytesPerSecond(7), Seconds(3)}};
  const Rates rates = stated_rates(
      "nopfs", {.tiers = {Bytes(1), Bytes(1)},
                .rates = &known,
                .options = options({{"disk_mb_s", 2.0}, {"disk_latency_us", 500.0}, {"store_mb_s", 3.0}})});
  EXPECT_EQ(rates.tiers[0].bandwidth, BytesPerSecond(5));
  EXPECT_EQ(rates.tiers[1].bandwidth, BytesPerSecond(2e6));
  EXPECT_EQ(rates.tiers[1].latency, Seconds(500 * 1e-6));
  EXPECT_EQ(rates.peer.latency, Seconds(2));
  EXPECT_EQ(rates.store.bandwidth, BytesPerSecond(3e6));
  EXPECT_EQ(rates.store.latency, Seconds(0));
  try {
    stated_rates("nopfs", {.tiers = {Bytes(1)}, .options = options({{"memory_mb_s", 1.0}})});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "nopfs: option 'store_mb_s': expected a rate above 0, because the platform does not tell "
                 "one, found '0'");
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
