// Properties of cache policies over random request streams, and the closed forms known for shuffled epochs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "policies/cache/policy.hpp"
#include "policies/cache/text.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/policies/cache/one_by_one.hpp"
#include "tests/support/names.hpp"
#include "tests/support/seeds.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

struct Request {
  SampleId id;
  Bytes size;
};

using testing::Access;
using testing::access;

std::unique_ptr<CachePolicy> make(const std::string& name, Bytes capacity) {
  return testing::make_policy(name, capacity);
}

std::vector<Request> random_requests(Rng& rng, int count, std::uint64_t ids, std::int64_t largest) {
  std::map<SampleId, Bytes> sizes;
  std::vector<Request> requests;
  for (int i = 0; i < count; ++i) {
    // The product of two uniform numbers favours small ids, so that there are hits.
    const auto id = static_cast<SampleId>(rng.uniform() * rng.uniform() * static_cast<double>(ids));
    const Bytes drawn(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(largest) + 1)));
    requests.push_back({id, sizes.emplace(id, drawn).first->second});
  }
  return requests;
}

std::vector<SampleId> shuffled_epoch(Rng& rng, std::int64_t samples) {
  std::vector<SampleId> ids(static_cast<std::size_t>(samples));
  std::iota(ids.begin(), ids.end(), SampleId{0});
  rng.shuffle(ids);
  return ids;
}

class CachePolicies : public ::testing::TestWithParam<std::string> {};

TEST_P(CachePolicies, AccountForEveryByteAndStayWithinTheCapacity) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const Bytes capacity(static_cast<std::int64_t>(rng.below(300)));
    const auto policy = make(GetParam(), capacity);
    std::map<SampleId, Bytes> kept;
    for (const auto& [id, size] : random_requests(rng, 3000, 100, 40)) {
      const Access now = access(*policy, id, size);
      ASSERT_EQ(now.is_hit, kept.count(id) == 1) << "sample " << id;
      for (const SampleId evicted : now.evicted)
        ASSERT_EQ(kept.erase(evicted), 1U) << "evicted " << evicted << ", which was not kept";
      if (now.keeps) kept[id] = size;
      ASSERT_FALSE(now.keeps && size > capacity);
      Bytes used{0};
      for (const auto& entry : kept) used += entry.second;
      ASSERT_EQ(policy->used(), used);
      ASSERT_LE(used, capacity);
    }
  }
}

TEST_P(CachePolicies, ForgetASampleWhoseReadFailed) {
  const auto policy = make(GetParam(), Bytes(100));
  const Sample now{7, Bytes(3)};
  Decisions decisions;
  policy->on_want({.now = {&now, 1}}, decisions);
  ASSERT_TRUE(policy->holds(7));
  decisions.clear();
  const Arrived failed{7, Bytes(3), store(), Why::demand, Arrived::Outcome::gone};
  policy->on_arrived({&failed, 1}, decisions);
  EXPECT_EQ(to_text(decisions), "drop 7");
  EXPECT_FALSE(policy->holds(7));
  EXPECT_EQ(policy->used(), Bytes(0));
  EXPECT_FALSE(access(*policy, 7, Bytes(3)).is_hit);
}

TEST_P(CachePolicies, DecideTheSameWhenTheirEventsAreReplayed) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto policy = make(GetParam(), Bytes(200));
    const auto replayed = make(GetParam(), Bytes(200));
    std::vector<Sample> now;
    for (const auto& request : random_requests(rng, 400, 100, 40)) {
      now.push_back({request.id, request.size});
      if (now.size() < 8) continue;
      const Want want{.epoch = 3, .now = now};
      Decisions decided, again;
      policy->on_want(want, decided);
      replay_event(*replayed, to_text(want), again);
      ASSERT_EQ(to_text(decided), to_text(again));
      now.clear();
    }
  }
}

TEST_P(CachePolicies, AreDeterministic) {
  const auto run = [&] {
    Rng rng(5);
    const auto policy = make(GetParam(), Bytes(200));
    std::vector<SampleId> evicted;
    for (const auto& request : random_requests(rng, 2000, 100, 40))
      for (const SampleId id : access(*policy, request.id, request.size).evicted) evicted.push_back(id);
    return evicted;
  };
  EXPECT_EQ(run(), run());
}

/// Hits of the optimal policy with bypassing, for unit sizes. Source: Belady, IBM Systems J. 5(2), 1966.
int belady_hits(const std::vector<SampleId>& ids, std::size_t capacity) {
  constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> next_use(ids.size(), never);
  std::unordered_map<SampleId, std::size_t> seen;
  for (std::size_t at = ids.size(); at-- > 0;) {
    if (const auto later = seen.find(ids[at]); later != seen.end()) next_use[at] = later->second;
    seen[ids[at]] = at;
  }
  std::set<std::pair<std::size_t, SampleId>> by_next_use;
  std::unordered_map<SampleId, std::size_t> kept;
  int hits = 0;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    if (const auto found = kept.find(ids[at]); found != kept.end()) {
      ++hits;
      by_next_use.erase({found->second, ids[at]});
      kept.erase(found);
    }
    by_next_use.insert({next_use[at], ids[at]});
    kept[ids[at]] = next_use[at];
    if (kept.size() > capacity) {
      const auto farthest = std::prev(by_next_use.end());
      kept.erase(farthest->second);
      by_next_use.erase(farthest);
    }
  }
  return hits;
}

using LongCachePolicies = CachePolicies;

TEST_P(LongCachePolicies, NeverBeatBelady) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const std::size_t capacity = 1 + rng.below(60);
    const auto policy = make(GetParam(), Bytes(static_cast<std::int64_t>(capacity)));
    std::vector<SampleId> ids;
    int hits = 0;
    for (const auto& request : random_requests(rng, 4000, 120, 1)) {
      ids.push_back(request.id);
      hits += access(*policy, request.id, Bytes(1)).is_hit ? 1 : 0;
    }
    EXPECT_LE(hits, belady_hits(ids, capacity));
    EXPECT_GT(hits, 0);
  }
}

TEST_P(CachePolicies, HitAtMostTheirCapacityPerEpoch) {
  for (const auto seed : testing::seeds(10)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto policy = make(GetParam(), Bytes(70));
    for (int epoch = 0; epoch < 6; ++epoch) {
      int hits = 0;
      for (const SampleId id : shuffled_epoch(rng, 200)) hits += access(*policy, id, Bytes(1)).is_hit ? 1 : 0;
      EXPECT_LE(hits, epoch == 0 ? 0 : 70);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CachePolicies, ::testing::ValuesIn(testing::simple_policies()),
                         testing::catalog_name);

INSTANTIATE_TEST_SUITE_P(LongCatalogue, LongCachePolicies, ::testing::ValuesIn(testing::simple_policies()),
                         testing::catalog_name);

TEST(Belady, OfAKnownStream) {
  // Unit sizes, two slots: 3 and 4 are bypassed, 1 and 2 remain.
  EXPECT_EQ(belady_hits({1, 2, 3, 1, 2, 4, 1, 2}, 2), 4);
}

TEST(Lru, AgreesWithALinearSearchOverAList) {
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const Bytes capacity(static_cast<std::int64_t>(rng.below(400)));
    const auto policy = make("lru", capacity);
    std::list<Request> model;  // newest first
    Bytes used{0};
    for (const auto& request : random_requests(rng, 3000, 100, 40)) {
      const auto found =
          std::find_if(model.begin(), model.end(), [&](const Request& r) { return r.id == request.id; });
      const Access now = access(*policy, request.id, request.size);
      ASSERT_EQ(now.is_hit, found != model.end());
      if (now.is_hit) {
        model.splice(model.begin(), model, found);
        continue;
      }
      std::vector<SampleId> evicted;
      const bool keep = request.size <= capacity;
      while (keep && used + request.size > capacity) {
        used -= model.back().size;
        evicted.push_back(model.back().id);
        model.pop_back();
      }
      if (keep) {
        model.push_front(request);
        used += request.size;
      }
      ASSERT_EQ(now.keeps, keep);
      ASSERT_EQ(now.evicted, evicted);
    }
  }
}

TEST(Minio, HitsExactlyTheSamplesThatFitInEachWarmEpoch) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng rng(seed);
    const auto size = static_cast<std::int64_t>(1 + rng.below(50));
    const auto capacity = static_cast<std::int64_t>(rng.below(10'000));
    const std::int64_t samples = capacity / size + 1 + static_cast<std::int64_t>(rng.below(500));
    const auto policy = make("minio", Bytes(capacity));
    for (int epoch = 0; epoch < 5; ++epoch) {
      std::int64_t hits = 0;
      for (const SampleId id : shuffled_epoch(rng, samples))
        hits += access(*policy, id, Bytes(size)).is_hit ? 1 : 0;
      EXPECT_EQ(hits, epoch == 0 ? 0 : capacity / size);
    }
  }
}

TEST(LongLru, WarmHitRatioOnShuffledEpochsHasTheClosedForm) {
  // h(c) = c + (1 - c) ln(1 - c) for a cache of share c and independently shuffled epochs. The hits of one
  // epoch deviate by less than sqrt(N) / 2, so 20 epochs of 20,000 samples give the ratio to 0.002 (over 2
  // deviations).
  constexpr std::int64_t samples = 20'000;
  constexpr int warm_epochs = 20;
  for (const double share : {0.1, 0.4, 0.8}) {
    Rng rng(1);
    const auto policy = make("lru", Bytes(static_cast<std::int64_t>(share * samples)));
    std::int64_t hits = 0;
    for (int epoch = 0; epoch <= warm_epochs; ++epoch)
      for (const SampleId id : shuffled_epoch(rng, samples))
        hits += access(*policy, id, Bytes(1)).is_hit && epoch > 0 ? 1 : 0;
    const double expected = share + (1 - share) * std::log(1 - share);
    EXPECT_NEAR(static_cast<double>(hits) / (samples * warm_epochs), expected, 0.002) << "share " << share;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
