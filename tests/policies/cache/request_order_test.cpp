// What a cache could have delivered at most that knows all requests: against all choices on small traces,
// against Belady's replay of traces, and closed forms.
#include "policies/cache/request_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "policies/cache/trace.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace TANDEM_FILE {

struct TestBatch {
  std::int64_t epoch = 0;
  std::vector<SampleId> ids;
};
using Batches = std::vector<TestBatch>;

RequestOrder order_of(const Batches& batches, std::int64_t most = 1 << 20) {
  RequestOrder order(most);
  std::vector<Serve> serves;
  for (const TestBatch& batch : batches) {
    serves.clear();
    for (const SampleId id : batch.ids) serves.push_back({id, id, store()});
    order.add(batch.epoch, serves);
  }
  return order;
}

std::int64_t most(const Batches& batches, std::int64_t first, std::int64_t last, std::vector<Bytes> tiers,
                  const Manifest& manifest) {
  return order_of(batches).most_from_tiers(first, last, tiers, manifest).count();
}

/// Of all contents of a cache for `capacity` samples after each batch, the best.
std::int64_t best_of_all(const Batches& batches, std::int64_t first, std::int64_t last, int capacity) {
  std::map<unsigned, std::int64_t> best = {{0U, 0}};  // by content: hits so far
  for (const TestBatch& batch : batches) {
    unsigned wanted = 0;
    std::map<unsigned, std::int64_t> then;
    for (const SampleId id : batch.ids) wanted |= 1U << id;
    for (const auto& [content, hits] : best) {
      std::int64_t now = hits;
      unsigned here = content;
      for (const SampleId id : batch.ids) {
        const bool counts = first <= batch.epoch && batch.epoch <= last;
        now += counts && (here >> id & 1U) != 0U ? 1 : 0;
        if (capacity > 0) here |= 1U << id;
      }
      const unsigned all = content | wanted;
      for (unsigned kept = all;; kept = (kept - 1) & all) {
        if (std::popcount(kept) <= capacity) {
          const auto entry = then.emplace(kept, now).first;
          entry->second = std::max(entry->second, now);
        }
        if (kept == 0) break;
      }
    }
    best = std::move(then);
  }
  std::int64_t most = 0;
  for (const auto& [content, hits] : best) most = std::max(most, hits);
  return most;
}

/// Epochs of different batches are mixed, as those of workers that do not wait for each other.
Batches random_batches(Rng& rng, int samples) {
  Batches batches(3 + rng.below(8));
  for (std::size_t i = 0; i < batches.size(); ++i) {
    batches[i].epoch = static_cast<std::int64_t>(i / 4 + rng.below(2));
    batches[i].ids.resize(1 + rng.below(3));
    for (SampleId& id : batches[i].ids)
      id = static_cast<SampleId>(rng.below(static_cast<std::uint64_t>(samples)));
  }
  return batches;
}

TEST(RequestOrder, TheMostIsThatOfAllChoices) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng = Rng::stream(seed, "choices");
    const int samples = 2 + static_cast<int>(rng.below(5));
    const Batches batches = random_batches(rng, samples);
    const Manifest manifest{.samples = samples, .each = Bytes(7)};
    for (int capacity = 0; capacity <= samples; ++capacity)
      for (const auto& [first, last] : {std::pair(0, 0), std::pair(1, 2), std::pair(1, 1), std::pair(0, 9)})
        EXPECT_EQ(most(batches, first, last, {Bytes(7 * capacity + 6)}, manifest),
                  7 * best_of_all(batches, first, last, capacity))
            << "seed " << seed << " capacity " << capacity << " epochs " << first << " to " << last;
  }
}

/// Bytes that can be kept one by one are samples of one byte that are wanted together.
TEST(RequestOrder, SamplesOfDifferentSizesAreBytesThatAreWantedTogether) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng = Rng::stream(seed, "sizes");
    constexpr int samples = 4;
    std::vector<Bytes> sizes;
    std::vector<std::vector<SampleId>> bytes_of;
    SampleId next = 0;
    for (int i = 0; i < samples; ++i) {
      sizes.emplace_back(1 + static_cast<std::int64_t>(rng.below(3)));
      bytes_of.emplace_back(static_cast<std::size_t>(sizes.back().count()));
      for (SampleId& byte : bytes_of.back()) byte = next++;
    }
    const Batches batches = random_batches(rng, samples);
    Batches in_bytes = batches;
    for (TestBatch& batch : in_bytes) {
      const auto ids = std::exchange(batch.ids, {});
      for (const SampleId id : ids) {
        const auto& bytes = bytes_of[static_cast<std::size_t>(id)];
        batch.ids.insert(batch.ids.end(), bytes.begin(), bytes.end());
      }
    }
    const std::int64_t largest = std::ranges::max(sizes).count();
    for (std::int64_t capacity = largest; capacity <= next; ++capacity)
      EXPECT_EQ(most(batches, 1, 9, {Bytes(capacity)}, {.samples = samples, .sizes = sizes}),
                most(in_bytes, 1, 9, {Bytes(capacity)}, {.samples = next, .each = Bytes(1)}))
          << "seed " << seed << " capacity " << capacity;
  }
}

/// One request after the other: as `tandem cache ... belady`.
TEST(RequestOrder, OfSingleRequestsIsBeladysReplay) {
  constexpr int samples = 50;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng = Rng::stream(seed, "trace");
    Batches batches;
    NumberedTrace trace;
    for (int i = 0; i < 2000; ++i) {
      const auto id = static_cast<SampleId>(rng.below(samples) * rng.below(samples) / samples);
      batches.push_back({0, {id}});
      trace.add(static_cast<std::uint64_t>(id), 10);
    }
    trace.find_next_requests();
    const auto& belady = trace_catalog().find("belady");
    for (const std::int64_t capacity : {1, 7, 20, 50}) {
      const Counts counts = belady.make.replay(
          trace.view(),
          {.capacity = Bytes(10 * capacity), .options = Options::resolve("belady", belady.options, {})});
      EXPECT_EQ(most(batches, 0, 0, {Bytes(10 * capacity)}, {.samples = samples, .each = Bytes(10)}),
                counts.hit_bytes);
    }
  }
}

Batches shuffled_epochs(int epochs, int samples, int batch) {
  Batches batches;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::vector<SampleId> ids(static_cast<std::size_t>(samples));
    std::iota(ids.begin(), ids.end(), SampleId{0});
    Rng::stream(3, "epoch", static_cast<std::uint64_t>(epoch)).shuffle(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i % static_cast<std::size_t>(batch) == 0) batches.push_back({epoch, {}});
      batches.back().ids.push_back(ids[i]);
    }
  }
  return batches;
}

/// Each epoch has every sample once: the capacity, in each warm epoch; in one tier or two.
TEST(RequestOrder, OfEpochsThatVisitAllIsTheCapacity) {
  const Batches batches = shuffled_epochs(5, 120, 8);
  const Manifest manifest{.samples = 120, .each = Bytes(10)};
  EXPECT_EQ(most(batches, 0, 0, {Bytes(300)}, manifest), 0);
  EXPECT_EQ(most(batches, 1, 4, {Bytes(300)}, manifest), 4 * 300);
  EXPECT_EQ(most(batches, 1, 3, {Bytes(305), Bytes(109)}, manifest), 3 * 400);
  EXPECT_EQ(most(batches, 1, 4, {Bytes(5000)}, manifest), 4 * 1200);
  EXPECT_EQ(most(batches, 5, 9, {Bytes(300)}, manifest), 0);
  EXPECT_EQ(most({}, 0, 9, {Bytes(300)}, manifest), 0);
}

TEST(RequestOrder, ASampleThatIsLargerThanATierIsNotKept) {
  const std::vector<Bytes> sizes = {Bytes(6), Bytes(2)};
  const Batches batches = {{0, {0, 1}}, {1, {0, 1, 1}}};
  EXPECT_EQ(most(batches, 1, 1, {Bytes(5)}, {.samples = 2, .sizes = sizes}), 2 + 2);
  EXPECT_EQ(most(batches, 1, 1, {Bytes(6)}, {.samples = 2, .sizes = sizes}), 6 + 2);
  EXPECT_EQ(most(batches, 1, 1, {Bytes(8)}, {.samples = 2, .sizes = sizes}), 8 + 2);
}

TEST(RequestOrder, KeepsNoMoreRequestsThanItMay) {
  const Batches batches = shuffled_epochs(2, 10, 5);
  EXPECT_TRUE(order_of(batches, 20).is_complete());
  EXPECT_FALSE(order_of(batches, 19).is_complete());
  EXPECT_EQ(order_of(batches, 19).requests(), 20);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cache
