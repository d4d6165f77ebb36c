// How long cache nodes take that ask a directory first, in closed form, and what they read.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/cache_times.hpp"
#include "workloads/cost/directory_cost.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

/// With a directory that lets one node keep a sample.
class DirectoryTimes : public PairTimes {
 protected:
  DirectoryTimes() : PairTimes("lru", Peers::directory) { experiment_.placement.directory = "h5"; }
  static double served(int samples) {
    return (directory_cost().message + directory_cost().tensor * samples).count();
  }
  /// From the question to the answer.
  static double lookup(int samples) {
    return alpha + (8.0 * samples + sizeof(Note)) / bandwidth + served(samples) + alpha +
           (4.0 * samples + sizeof(Note)) / bandwidth;
  }
  /// Messages leave a node together with updates, which delays them a little.
  static constexpr double beside_update_s = 1e-6;
};

/// The client's request, one message to the directory and back, and what there would be without it. What a
/// node has itself is not looked up.
TEST_F(DirectoryTimes, AMissAsksTheDirectoryFirst) {
  double first = 0, again = 0, at_peer = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   first = answer_time(client, context, {2, 4});
                                   sleep_until(context, 2.0);
                                   again = answer_time(client, context, {4, 2});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 1.0);
                                   at_peer = answer_time(client, context, {2, 4});
                                 }});
  EXPECT_NEAR(first, request(2) + lookup(2) + from_store(2) + batch(2), beside_update_s);
  EXPECT_NEAR(at_peer, request(2) + lookup(2) + from_peer(2, 2) + batch(2), precision_s);
  EXPECT_NEAR(again, request(2) + batch(2), precision_s);
  EXPECT_EQ(cache_sum(journal, "store").samples, 2);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 2);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 2);
  EXPECT_NEAR(cache_sum(journal, "peer").blocked.count(), lookup(2) + from_peer(2, 2), precision_s);
}

/// Of each question and update there is one message for all samples of a batch.
TEST_F(DirectoryTimes, MessagesAndTheirTimesAreRecorded) {
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2, 4, 6});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 1.0);
                                   answer_time(client, context, {2, 4, 8});
                                 }});
  EXPECT_EQ(cache_sum(journal, "lookup").samples, 6);
  EXPECT_EQ(cache_sum(journal, "lookup").bytes, 6 * 3073);
  EXPECT_NEAR(cache_sum(journal, "lookup").blocked.count(), 2 * lookup(3), precision_s);
  EXPECT_EQ(cache_sum(journal, "lookup-messages").samples, 4);
  EXPECT_EQ(cache_sum(journal, "lookup-messages").bytes, 2 * 3 * (8 + 4));
  EXPECT_EQ(cache_sum(journal, "published").samples, 4) << "the second node may keep only one of them";
  EXPECT_EQ(cache_sum(journal, "update-messages").samples, 2);
  EXPECT_EQ(cache_sum(journal, "update-messages").bytes, 4 * 8);
  for (const char* none : {"withdrawn", "repaired", "peer-miss"})
    EXPECT_EQ(cache_sum(journal, none).samples, 0) << none;
  // With the ends of both nodes.
  EXPECT_EQ(messages(journal, "directory"), 2 + 2 + 2);
  EXPECT_EQ(messages(journal, "holders"), 2);
  double work = 0;
  for (const OperationRecord& operation : journal.operations)
    if (operation.work == "push" || operation.work == "reply")
      work += (operation.end - operation.start).count();
  EXPECT_NEAR(work, 2 * served(3) + served(3) + served(1), precision_s);
}

/// Both want the sample at about the same time: the second one waits for what the first one reads.
TEST_F(DirectoryTimes, OneNodeReadsForBoth) {
  const Journal journal =
      serve({[&](CacheClient& client, Context& context) { answer_time(client, context, {2}); },
             [&](CacheClient& client, Context& context) {
               sleep_until(context, 1e-7);
               answer_time(client, context, {2});
             }});
  EXPECT_EQ(cache_sum(journal, "store").samples, 1);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 1);
  EXPECT_EQ(messages(journal, "reads"), 3) << "one, and the ends of both nodes";
}

/// The sample has left the named node while the answer was on its way: it comes from the store, and the
/// directory is repaired.
TEST_F(DirectoryTimes, WhatHasLeftItsHolderComesFromTheStore) {
  experiment_.data.cache_capacity = Bytes(3073);
  double missed = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2});
                                   sleep_until(context, 1.0);
                                   answer_time(client, context, {4});
                                   sleep_until(context, 3.0);
                                   answer_time(client, context, {2});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   // The first node reads, and has not told yet what it has evicted.
                                   sleep_until(context, 1.001);
                                   missed = answer_time(client, context, {2});
                                   sleep_until(context, 2.0);
                                   answer_time(client, context, {2});
                                 }});
  EXPECT_GT(missed, request(1) + lookup(1) + from_peer(1, 0) + from_store(1) + batch(1) - precision_s);
  EXPECT_LT(missed, request(1) + lookup(1) + from_peer(1, 0) + 2 * from_store(1) + batch(1));
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 1);
  EXPECT_EQ(cache_sum(journal, "repaired").samples, 1);
  EXPECT_EQ(cache_sum(journal, "store").samples, 4) << "2, 4, 2 in vain, and 2 to keep it";
  EXPECT_EQ(cache_sum(journal, "peer").samples, 1) << "the second node keeps it then";
}

/// Without a limit, a node keeps what it got from another one.
TEST_F(DirectoryTimes, CopiesAreKeptIfTheyMayBe) {
  experiment_.data.copies = 0;
  double hit = 0;
  const Journal journal =
      serve({[&](CacheClient& client, Context& context) { answer_time(client, context, {2}); },
             [&](CacheClient& client, Context& context) {
               sleep_until(context, 1.0);
               answer_time(client, context, {2});
               hit = answer_time(client, context, {2});
             }});
  EXPECT_NEAR(hit, request(1) + batch(1), beside_update_s);
  EXPECT_EQ(cache_sum(journal, "published").samples, 2);
}

/// Three workers, each with a node of its own, share the samples of each epoch.
class DirectoryCounts : public DirectoryTimes {
 protected:
  static constexpr std::int64_t epochs = 4, set = 120;
  DirectoryCounts() {
    experiment_.workload.train_samples = set;
    experiment_.placement.workers = lab::hosts(3);
    experiment_.placement.cache_nodes = {"h4", "h6", "h7"};
    experiment_.data.cache_capacity = Bytes(set / 3 * 3073);
    experiment_.data.sampling = "shuffled";
    experiment_.stop.rounds = 5 * epochs;
  }
};

struct Wanting {
  const char* policy;
  int prefetch;
};
class RoomForAll : public DirectoryCounts, public ::testing::WithParamInterface<Wanting> {};

/// The nodes together have room for all samples, so each is read from the store once, and from then on is
/// where one of the nodes has put it. Batches in advance may want it while it is read.
TEST_P(RoomForAll, OneCopyOfEverySampleIsReadFromTheStoreOnce) {
  experiment_.data.cache = GetParam().policy;
  experiment_.data.prefetch = GetParam().prefetch;
  if (experiment_.data.cache == "icache") {
    experiment_.data.cache_options = {{"split", 1.0}};
    experiment_.data.sampling = "importance";
    experiment_.data.sampling_options = {{"warm_up", epochs}};
  }
  const Journal journal = train();
  EXPECT_EQ(cache_sum(journal, "store").samples, set);
  EXPECT_EQ(cache_sum(journal, "store", 0).samples, set);
  EXPECT_EQ(cache_sum(journal, "published").samples, set);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 0);
  for (std::int64_t epoch = 1; epoch < epochs; ++epoch) {
    EXPECT_EQ(cache_sum(journal, "tier0", epoch).samples + cache_sum(journal, "peer", epoch).samples, set)
        << epoch;
    EXPECT_GT(cache_sum(journal, "peer", epoch).samples, set / 3) << epoch;
  }
}

std::string name_of_test(const ::testing::TestParamInfo<Wanting>& each) {
  return each.param.policy + std::to_string(each.param.prefetch);
}
INSTANTIATE_TEST_SUITE_P(Policies, RoomForAll, ::testing::Values(Wanting{"minio", 0}, Wanting{"lru", 2}),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(LongPolicies, RoomForAll,
                         ::testing::Values(Wanting{"minio", 2}, Wanting{"lru", 0}, Wanting{"icache", 2}),
                         name_of_test);

/// An owner keeps a sample only when it wants it itself, so the others read it from the store until then.
TEST_F(DirectoryCounts, WithOwnersItIsNotSo) {
  experiment_.data.cache = "minio";
  experiment_.data.peers = Peers::partition;
  experiment_.data.prefetch = 0;
  experiment_.placement.directory.clear();
  const Journal journal = train();
  EXPECT_GT(cache_sum(journal, "store").samples, set + set / 3);
}

/// Caches that are too small for all samples: evictions are told, and samples that only one node had come
/// from the store again.
TEST_F(DirectoryCounts, EvictionsAreWithdrawn) {
  experiment_.data.copies = 2;
  experiment_.data.cache_capacity = Bytes(20 * 3073);
  experiment_.data.prefetch = 0;
  const Journal journal = train();
  EXPECT_GT(cache_sum(journal, "withdrawn").samples, set);
  EXPECT_GT(cache_sum(journal, "store").samples, set);
  EXPECT_EQ(cache_sum(journal, "store").samples + cache_sum(journal, "peer").samples +
                cache_sum(journal, "tier0").samples,
            set * epochs);
}

/// iCache on two nodes, each with room for a third of the samples in its H-cache. The first four epochs have
/// all samples and displace none; the fifth one selects.
class DirectoryOfICache : public DirectoryTimes {
 protected:
  static constexpr std::int64_t set = 96, room = set / 3, selects = 4;
  DirectoryOfICache() {
    experiment_.workload.train_samples = set;
    experiment_.data.cache = "icache";
    experiment_.data.cache_options = {{"split", 1.0}};
    experiment_.data.cache_capacity = Bytes(room * 3073);
    experiment_.data.prefetch = 0;
    experiment_.data.sampling = "importance";
    select_high(1.0);
    experiment_.stop = {.epochs = 5.0};
  }
  /// The share of the selected samples that is of high importance.
  void select_high(double share) {
    experiment_.data.sampling_options = {{"warm_up", std::int64_t{selects}},
                                         {"history", std::int64_t{8}},
                                         {"block", std::int64_t{8}},
                                         {"high", share}};
  }
  /// Samples of an epoch of all samples that its node keeps: each keeps the first ones of its first list. Of
  /// a list, the workers have every other sample.
  std::int64_t own_hits(std::int64_t epoch) const {
    const std::vector<SampleId> first = job_->data().lists().of(0, {}, {})->ids;
    const std::vector<SampleId> now = job_->data().lists().of(epoch, {}, {})->ids;
    std::int64_t hits = 0;
    for (std::int64_t i = 0; i < std::ssize(now); ++i) {
      const std::int64_t place = std::ranges::find(first, now[static_cast<std::size_t>(i)]) - first.begin();
      hits += place % 2 == i % 2 && place / 2 < room ? 1 : 0;
    }
    return hits;
  }
  static std::int64_t samples(const Journal& journal, const char* row, std::int64_t epoch) {
    return cache_sum(journal, row, epoch).samples;
  }
};

/// The nodes keep different samples, two thirds of all. So the store sends a third.
TEST_F(DirectoryOfICache, TwoNodesReadAThirdFromTheStore) {
  const Journal shared = train();
  for (std::int64_t epoch = 0; epoch < selects; ++epoch) {
    SCOPED_TRACE(epoch);
    const std::int64_t here = epoch == 0 ? 0 : own_hits(epoch);
    EXPECT_EQ(samples(shared, "tier0", epoch), here);
    EXPECT_EQ(samples(shared, "lookup", epoch), set - here);
    EXPECT_EQ(samples(shared, "peer", epoch), epoch == 0 ? 0 : 2 * room - here);
    EXPECT_EQ(samples(shared, "store", epoch), epoch == 0 ? set : set - 2 * room);
    EXPECT_EQ(samples(shared, "published", epoch), epoch == 0 ? 2 * room : 0);
    EXPECT_EQ(samples(shared, "withdrawn", epoch), set - 2 * room) << "what it might keep, without room";
    EXPECT_EQ(samples(shared, "peer-miss", epoch), 0);
  }
}

/// Without the directory, a node has a third of what it is asked for, and the store sends two thirds.
TEST_F(DirectoryOfICache, TwoNodesApartReadTwiceAsManySamplesFromTheStore) {
  experiment_.data.peers = Peers::none;
  experiment_.data.copies = 0;
  experiment_.placement.directory.clear();
  const Journal apart = train();
  double from_store = 0;
  for (std::int64_t epoch = 1; epoch < selects; ++epoch) {
    EXPECT_EQ(samples(apart, "store", epoch), set - own_hits(epoch)) << epoch;
    from_store += static_cast<double>(samples(apart, "store", epoch));
  }
  const double with = static_cast<double>(selects - 1) * static_cast<double>(set - 2 * room);
  EXPECT_NEAR(from_store / with, 2.0, 0.25) << "which samples a node is asked for is random";
}

/// A more important sample takes the place of another one, which another node may keep then.
TEST_F(DirectoryOfICache, ChangesOfTheHCachesAreReported) {
  const Journal journal = train();
  EXPECT_GT(samples(journal, "published", selects), 0);
  EXPECT_GE(samples(journal, "withdrawn", selects), samples(journal, "published", selects));
  EXPECT_GT(samples(journal, "peer", selects), 0);
}

/// Copies that may be kept are kept, if there is room for them.
TEST_F(DirectoryOfICache, WithoutALimitANodeKeepsWhatItGetsFromTheOther) {
  experiment_.data.copies = 0;
  experiment_.data.cache_capacity = Bytes(set * 3073);
  const Journal journal = train();
  EXPECT_EQ(cache_sum(journal, "store").samples, set);
  const std::int64_t copied = cache_sum(journal, "peer").samples;
  EXPECT_GT(copied, set / 2);
  EXPECT_EQ(cache_sum(journal, "published").samples, set + copied);
}

/// Samples of low importance have homes, and no other node is asked for them.
TEST_F(DirectoryOfICache, SamplesOfLowImportanceAreNotLookedUp) {
  select_high(0.0);
  const Journal journal = train();
  EXPECT_GT(samples(journal, "lookup", selects - 1), 0);
  EXPECT_GT(samples(journal, "store", selects), 0);
  for (const char* none : {"lookup", "peer", "published", "withdrawn"})
    EXPECT_EQ(samples(journal, none, selects), 0) << none;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
