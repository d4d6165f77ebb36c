// What a cache node decides about requests and about what has been read, event by event.
#include "workloads/roles/cache/cache_service.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/cache_counts.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/workloads/roles/cache/played_node.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::Ids;
using testing::PlayedNode;

class CacheServices : public ::testing::Test {
 protected:
  static constexpr int record = 785;
  /// Two workers of the first node. The least recently used samples leave its tiers.
  static Experiment reading(int in_memory, int on_disk = 0) {
    Experiment experiment = testing::cached_experiment("synthetic", 40, 6);
    experiment.placement.workers = {"d", "d"};
    experiment.placement.cache_nodes = {"a"};
    experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes(in_memory * record);
    experiment.data.disk_capacity = Bytes(on_disk * record);
    return experiment;
  }
  /// Two nodes with one worker each: the first one owns the even samples, the second one the odd ones.
  static Experiment sharing() {
    Experiment experiment = reading(4);
    experiment.placement.cache_nodes = {"a", "b"};
    experiment.placement.stores = {"c"};
    experiment.data.peers = Peers::partition;
    experiment.data.copies = 1;
    return experiment;
  }
  Job job(const Experiment& experiment) const {
    return {experiment, testing::hosts_with_disks("cache_service_test", {"a", "b", "c", "d"}),
            folder_.path().string()};
  }
  static Ids held(const PlayedNode& node) {
    Ids ids;
    for (SampleId id = 0; id < node.data.manifest().samples; ++id)
      if (node.service.engine().has(id)) ids.push_back(id);
    return ids;
  }
  testing::TemporaryFolder folder_;
};

constexpr std::size_t store = 0;

TEST_F(CacheServices, ABatchIsSentWhenItsLastSampleIsThere) {
  const Job of = job(reading(3));
  PlayedNode node(of);
  EXPECT_EQ(node.want(0, {1, 2}), "read store 1 2");
  EXPECT_EQ(node.want(1, {2, 3}), "read store 3") << "the other one is being read";
  EXPECT_EQ(node.end(store), "send 0");
  EXPECT_EQ(node.end(store), "send 1");
  EXPECT_EQ(node.want(0, {1}), "send 0");
  EXPECT_EQ(cache_sum(node.journal, "store").samples, 3);
  EXPECT_EQ(cache_sum(node.journal, "tier0").samples, 2)
      << "memory was to keep it when it was asked for again";
  EXPECT_TRUE(node.service.is_idle());
}

TEST_F(CacheServices, BatchesOfAWorkerKeepTheOrderOfItsRequests) {
  const Job of = job(reading(3));
  PlayedNode node(of);
  node.want(0, {1});
  node.end(store);
  EXPECT_EQ(node.want(0, {5}), "read store 5");
  EXPECT_EQ(node.want(0, {1}), "");
  EXPECT_EQ(node.want(1, {1}), "send 1") << "another worker does not wait";
  EXPECT_EQ(node.end(store), "send 0; send 0");
}

TEST_F(CacheServices, WhatLeavesMemoryIsWrittenToTheDiskAndReadFromThere) {
  const Job of = job(reading(1, 2));
  PlayedNode node(of);
  node.want(0, {1});
  node.end(store);
  EXPECT_EQ(node.want(0, {2}), "read store 2; write 1");
  EXPECT_EQ(node.end(store), "send 0");
  EXPECT_EQ(node.end(store), "in-tier 1");
  EXPECT_EQ(node.want(0, {1}), "from-tier 1; write 2");
  EXPECT_EQ(node.end(store), "remove 1; send 0") << "it is in memory again";
  EXPECT_EQ(node.end(store), "in-tier 2");
  EXPECT_EQ(held(node), (Ids{1, 2}));
}

/// The tier on the disk is smaller than it should be.
TEST_F(CacheServices, WhatTheDiskHasNoRoomForComesFromTheStoreAgain) {
  const Job of = job(reading(1, 2));
  PlayedNode node(of);
  node.want(0, {1});
  node.end(store);
  node.want(0, {2});
  node.end(store);
  EXPECT_EQ(node.end(store, {1}), "");
  EXPECT_EQ(cache_sum(node.journal, "no-room").samples, 1);
  EXPECT_EQ(node.want(0, {1}), "from-tier 1; write 2");
  EXPECT_EQ(node.end(store, {1}), "instead store 1");
  EXPECT_EQ(node.end(store), "in-tier 2");
  EXPECT_EQ(node.end(store), "remove 1; send 0");
  EXPECT_EQ(cache_sum(node.journal, "tier1").samples, 0) << "counted where it came from";
  EXPECT_EQ(cache_sum(node.journal, "store").samples, 3);
}

TEST_F(CacheServices, ABadSampleIsMarkedAndNotWritten) {
  Experiment experiment = reading(1, 2);
  experiment.data.bad_sample = BadSample::replace;
  const Job of = job(experiment);
  PlayedNode node(of);
  node.want(0, {1});
  EXPECT_EQ(node.end(store, {1}), "send 0");
  const auto given = [&node] {
    const auto& records = node.sent.back().records;
    return GivenSamples::get(std::span(records).last(sizeof(SampleId)), 0);
  };
  EXPECT_EQ(given(), bad_sample);
  EXPECT_EQ(node.want(0, {1}), "send 0") << "it is not read again while a tier has a place for it";
  EXPECT_EQ(given(), bad_sample);
  EXPECT_EQ(node.want(0, {2}), "read store 2");
  node.end(store);
  EXPECT_EQ(given(), 2);
}

TEST_F(CacheServices, WhatAnotherNodeDoesNotHaveIsReadFromTheStore) {
  const Job of = job(sharing());
  PlayedNode node(of);
  const std::size_t peer = node.places.first_peer();
  EXPECT_EQ(node.want(0, {1, 3, 4}), "read peer 1 3; read store 4");
  SampleRead read = node.take(peer);
  read.not_here = {3};
  read.ids = {1};
  read.targets.pop_back();
  EXPECT_EQ(node.end(read), "read store 3");
  EXPECT_EQ(cache_sum(node.journal, "peer").samples, 1);
  EXPECT_EQ(cache_sum(node.journal, "peer-miss").samples, 1);
  EXPECT_EQ(node.want(0, {3}), "") << "the read from the store is under way";
  EXPECT_EQ(cache_sum(node.journal, "peer-miss").samples, 2);
  EXPECT_EQ(node.end(store), "");
  EXPECT_EQ(node.end(store), "send 0; send 0");
  EXPECT_EQ(cache_sum(node.journal, "store").samples, 3);
}

TEST_F(CacheServices, AnotherNodeGetsWhatIsHereOrReadFromTheStoreToBeKept) {
  const Job of = job(sharing());
  PlayedNode node(of);
  node.want(0, {2});
  node.end(store);
  EXPECT_EQ(node.answer(0, {1, 2}), "send 1");
  EXPECT_FALSE(node.sent.back().found.has(0));
  EXPECT_TRUE(node.sent.back().found.has(1));
  node.want(0, {1, 4});
  EXPECT_EQ(node.answer(0, {1, 4}), "") << "it does not wait for what it asks the other one itself";
  EXPECT_EQ(node.end(store), "send 1");
  EXPECT_FALSE(node.sent.back().found.has(0));
  EXPECT_TRUE(node.sent.back().found.has(1));
}

TEST_F(CacheServices, ABatchOfAWorkerThatIsGoneIsNotSent) {
  const Job of = job(reading(3));
  PlayedNode node(of);
  node.want(0, {1});
  node.want(0, {2});
  node.want(1, {2});
  node.service.batches().lose(0);
  EXPECT_EQ(node.end(store), "");
  EXPECT_FALSE(node.service.is_idle());
  EXPECT_EQ(node.want(0, {1}), "send 0") << "the next worker in its slot";
  EXPECT_EQ(node.end(store), "send 1");
  node.service.batches().drop_lost();
  EXPECT_TRUE(node.service.is_idle());
}

TEST_F(CacheServices, OfANodeThatMayDepartOnlyWhatIsSentCounts) {
  const Job of = job(sharing());
  PlayedNode node(of, 0, true);
  node.want(0, {1, 2});
  EXPECT_EQ(cache_sum(node.journal, "").samples, 0);
  SampleRead read = node.take(node.places.first_peer());
  read.not_here = std::exchange(read.ids, {});
  read.targets.clear();
  node.end(read);
  node.end(store);
  EXPECT_EQ(node.end(store), "send 0");
  std::int64_t from_store = 0, from_peer = 0;
  for (const auto& [row, count] : node.sent.back().delivered) {
    from_store += row == "store" ? count.samples : 0;
    from_peer += row == "peer" ? count.samples : 0;
  }
  EXPECT_EQ(from_store, 2);
  EXPECT_EQ(from_peer, 0);
  EXPECT_EQ(node.sent.back().asked_for, (Ids{1, 2}));
}

/// What an earlier process has left there (data.keep).
TEST_F(CacheServices, ATierThatIsSmallerThanBeforeKeepsWhatFits) {
  Experiment experiment = reading(1, 2);
  experiment.data.cache = "minio";
  experiment.data.keep = true;
  const Job of = job(experiment);
  PlayedNode node(of);
  std::vector<TierEntry> left = {{.id = 5}, {.id = 6}, {.id = 7}};
  EXPECT_EQ(node.perform(node.service.begin_tier(left, 1)), "remove 7");
  EXPECT_EQ(left, (std::vector<TierEntry>{{.id = 5}, {.id = 6}}));
  EXPECT_EQ(cache_sum(node.journal, "kept").samples, 0) << "the epoch is not known";
  EXPECT_EQ(node.want(0, {5, 7}, 3), "from-tier 5; read store 7");
  EXPECT_EQ(cache_sum(node.journal, "kept", 3).samples, 2);
  EXPECT_EQ(cache_sum(node.journal, "spoiled", 3).samples, 1);
}

TEST_F(CacheServices, NothingIsReadInAdvanceWhileABatchWaits) {
  Experiment experiment = reading(20);
  experiment.data.cache = "hoard";
  const Job of = job(experiment);
  PlayedNode node(of);
  // The policy has decided at the start to read what memory has room for.
  const std::string ahead = node.idle();
  EXPECT_TRUE(ahead.starts_with("ahead store")) << ahead;
  EXPECT_EQ(node.idle(), "") << "it is being read";
  const Ids read = node.reads.at(store).front().ids;
  SampleId other = 0;
  while (std::ranges::count(read, other) > 0) ++other;
  EXPECT_EQ(node.want(0, {read.front()}), "") << "the batch waits for what was decided ahead";
  EXPECT_TRUE(node.want(1, {other}).starts_with("read store"));
  EXPECT_EQ(node.end(store), "send 0");
  EXPECT_EQ(node.idle(), "") << "the other batch waits";
  EXPECT_TRUE(node.end(store).starts_with("send 1"));
  EXPECT_EQ(cache_sum(node.journal, "tier0").samples, 1);
}

TEST_F(CacheServices, LoadersReadInAdvanceWhileABatchWaits) {
  Experiment experiment = reading(20);
  experiment.data.cache = "hoard";
  experiment.data.loaders = 1;
  const Job of = job(experiment);
  PlayedNode node(of);
  EXPECT_EQ(node.want(1, {39}), "read store 39") << "which memory has no room for";
  const std::string ahead = node.idle();
  EXPECT_TRUE(ahead.starts_with("ahead store")) << ahead;
  EXPECT_EQ(node.idle(), "") << "as many as the node has loaders";
}

}  // namespace TANDEM_FILE
}  // namespace tandem
