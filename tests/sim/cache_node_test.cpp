// How long a cache node takes to answer requests, in closed form: what overlaps and what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/sim/cache_times.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

TEST_F(CacheTimes, AMissAloneTakesARequestAReadAndABatch) {
  double missed = 0, hit = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   missed = answer_time(client, context, {1, 2, 3});
                                   hit = answer_time(client, context, {3, 1});
                                 },
                                 stays_away});
  EXPECT_NEAR(missed, request(3) + disk(3) + batch(3), precision_s);
  EXPECT_NEAR(hit, request(2) + batch(2), precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").reading.count(), disk(3), precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").blocked.count(), disk(3), precision_s);
  EXPECT_EQ(cache_sum(journal, "tier0").blocked, Seconds(0));
  EXPECT_EQ(cache_sum(journal, "tier0").bytes, 2 * 3073);
}

/// The latencies of two requests overlap; their bytes follow each other.
TEST_F(CacheTimes, ADiskThatServesTwoRequestsOverlapsTheirLatencies) {
  disk_ =
      "<disk id='disk' read_bw='100MBps' write_bw='50MBps'><prop id='tandem:latency' value='5ms'/>"
      "<prop id='tandem:parallel' value='2'/></disk>";
  keeps_operations_ = true;
  std::vector<double> missed;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   missed.push_back(answer_time(client, context, {1}));
                                   missed.push_back(answer_time(client, context, {2, 3}));
                                   missed.push_back(answer_time(client, context, {4, 5, 6, 7, 8}));
                                 },
                                 stays_away});
  const double moving = record / rate;
  ASSERT_EQ(missed.size(), 3U);
  EXPECT_NEAR(missed[0], request(1) + latency_s + moving + batch(1), precision_s);
  EXPECT_NEAR(missed[1], request(2) + latency_s + 2 * moving + batch(2), precision_s);
  // Three times two requests, the last of which is alone.
  EXPECT_NEAR(missed[2], request(5) + 3 * (latency_s + moving) + batch(5), precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").reading.count(), 5 * latency_s + 6 * moving, precision_s);
  std::vector<std::int64_t> parts;
  for (const OperationRecord& operation : journal.operations)
    if (operation.kind == "read") parts.push_back(operation.bytes / 3073);
  EXPECT_EQ(parts, (std::vector<std::int64_t>{1, 1, 1, 2, 3}));
}

/// An object store, for example, whose rate all readers share and whose latency each of them waits for alone.
TEST_F(CacheTimes, ReadsForSeveralClientsOverlapTheirLatenciesToo) {
  disk_ =
      "<disk id='disk' read_bw='100MBps' write_bw='50MBps'><prop id='tandem:latency' value='5ms'/>"
      "<prop id='tandem:parallel' value='16'/></disk>";
  std::vector<double> ends(2);
  const auto client = [&](std::size_t index, SampleId first) {
    return [&ends, index, first](CacheClient& own, Context& context) {
      answer_time(own, context, {first, first + 1, first + 2});
      ends[index] = context.now().count();
    };
  };
  serve({client(0, 1), client(1, 11)});
  // Both requests share the link of the node. The bytes of both reads follow each other, behind one latency.
  const double requests = alpha + 2 * (8.0 * 3 + sizeof(Note)) / bandwidth;
  EXPECT_NEAR(*std::ranges::max_element(ends), requests + latency_s + 6 * record / rate + batch(3),
              precision_s);
}

/// The read for the one client takes 10 ms; the other's samples are in the cache.
TEST_F(CacheTimes, HitsOvertakeMisses) {
  double missed = 0, hit = 0;
  serve({[&](CacheClient& client, Context& context) {
           answer_time(client, context, {1, 2});
           sleep_until(context, 1.0);
           missed = answer_time(client, context, {5, 6});
         },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, 1.001);
           hit = answer_time(client, context, {1, 2});
         }});
  EXPECT_NEAR(missed, request(2) + disk(2) + batch(2), precision_s);
  EXPECT_NEAR(hit, request(2) + batch(2), precision_s);
}

/// The second client's requests come while the samples are being read for the first one: it waits for the
/// same reads, and its batch is sent at the same time.
TEST_F(CacheTimes, ASampleInFlightIsNotReadAgain) {
  double first = 0, second = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {5, 6});
                                   first = context.now().count();
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 0.001);
                                   answer_time(client, context, {6, 5});
                                   second = context.now().count();
                                 }});
  // Both batches leave through the link of the node.
  const double both = request(2) + disk(2) + alpha + 2 * (record * 2 + sizeof(Note)) / bandwidth;
  EXPECT_NEAR(first, both, precision_s);
  EXPECT_NEAR(second, both, precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").reading.count(), disk(2), precision_s);
  // The second batch comes when most of the read is done, and waits for it all the same.
  EXPECT_NEAR(cache_sum(journal, "store").blocked.count(),
              disk(2) + request(2) + disk(2) - (0.001 + request(2)), precision_s);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 2);
  EXPECT_EQ(cache_sum(journal, "store").samples, 2);
}

TEST_F(CacheTimes, ReadsOfADiskFollowEachOther) {
  double first = 0, second = 0;
  serve({[&](CacheClient& client, Context& context) { first = answer_time(client, context, {5}); },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, 0.001);
           answer_time(client, context, {6, 7});
           second = context.now().count();
         }});
  EXPECT_NEAR(first, request(1) + disk(1) + batch(1), precision_s);
  EXPECT_NEAR(second, request(1) + disk(1) + disk(2) + batch(2), precision_s);
}

/// A client gets its batches in the order of its requests.
TEST_F(CacheTimes, AHitDoesNotOvertakeAnEarlierRequestOfItsClient) {
  double end = 0;
  serve({[&](CacheClient& client, Context& context) {
           answer_time(client, context, {1});
           sleep_until(context, 1.0);
           client.request({2});
           client.request({1});
           client.receive();
           client.receive();
           end = context.now().count() - 1.0;
         },
         stays_away});
  // The messages of one sender follow each other.
  EXPECT_NEAR(end, request(1) + disk(1) + alpha + 2 * (record + sizeof(Note)) / bandwidth, precision_s);
}

/// Two samples in memory, and three on the disk.
class TierTimes : public CacheTimes {
 protected:
  TierTimes() {
    experiment_.data.cache_capacity = Bytes(2 * 3073);
    experiment_.data.disk_capacity = Bytes(3 * 3073);
  }
  static double written(int samples) { return samples * (latency_s + record / 5e7); }
};

/// Nothing else happens when a sample is read back, and the disk has no more to do than that.
TEST_F(TierTimes, WhatLeavesMemoryIsReadFromTheDisk) {
  double back = 0, hit = 0, gone = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {1, 2});
                                   answer_time(client, context, {3, 4});  // 1 and 2 are written
                                   sleep_until(context, 1.0);
                                   back = answer_time(client, context, {1});  // 3 is written
                                   sleep_until(context, 2.0);
                                   hit = answer_time(client, context, {4, 1});
                                   answer_time(client, context, {5, 6, 7, 8});
                                   sleep_until(context, 3.0);
                                   gone = answer_time(client, context, {2});
                                 },
                                 stays_away});
  EXPECT_NEAR(back, request(1) + disk(1) + batch(1), precision_s);
  EXPECT_NEAR(hit, request(2) + batch(2), precision_s);
  EXPECT_NEAR(gone, request(1) + disk(1) + batch(1), precision_s);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 2);
  EXPECT_EQ(cache_sum(journal, "tier1").samples, 1);
  EXPECT_NEAR(cache_sum(journal, "tier1").reading.count(), disk(1), precision_s);
  EXPECT_NEAR(cache_sum(journal, "tier1").blocked.count(), disk(1), precision_s);
  EXPECT_EQ(cache_sum(journal, "store").samples, 9);
}

/// The disk does one thing after the other: a read waits for the write of what the batch before has
/// displaced.
TEST_F(TierTimes, AReadWaitsForTheWriteBefore) {
  double second = 0;
  serve({[&](CacheClient& client, Context& context) {
           answer_time(client, context, {1, 2});
           sleep_until(context, 1.0);
           client.request({3});
           client.request({1});
           client.receive();
           client.receive();
           second = context.now().count() - 1.0;
         },
         stays_away});
  // 1 leaves memory for 3, and 2 for 1, which comes back.
  EXPECT_NEAR(second, request(1) + disk(1) + written(1) + disk(1) + batch(1), precision_s);
}

/// Memory for one batch of 8. The store is fast, and a disk that writes 1 MB/s is slow: when more than two
/// batches are left to write, the next request waits until one is written.
TEST_F(TierTimes, ASlowDiskHoldsBackRequests) {
  disk_ = "<disk id='disk' read_bw='1000MBps' write_bw='1MBps'/>";
  experiment_.data.cache_capacity = Bytes(8 * 3073);
  experiment_.data.disk_capacity = Bytes(80 * 3073);
  experiment_.placement.stores = {"h3"};
  std::vector<double> answered;
  serve({[&](CacheClient& client, Context& context) {
           for (SampleId first = 0; first < 56; first += 8) {
             std::vector<SampleId> ids(8);
             std::iota(ids.begin(), ids.end(), first);
             answer_time(client, context, ids);
             answered.push_back(context.now().count());
           }
         },
         stays_away});
  const double written = 8 * record / 1e6;
  const double precision = 1e-5;
  ASSERT_EQ(answered.size(), 7U);
  // Each batch from the second on displaces the one before, and three batches may be left.
  EXPECT_LT(answered[3], 0.1 * written);
  EXPECT_GT(answered[4], written);
  EXPECT_LT(answered[4], 1.1 * written);
  EXPECT_NEAR(answered[5], answered[4] + written, precision);
  EXPECT_NEAR(answered[6], answered[5] + written, precision);
}

/// With a store, the disk is that of the tier alone, and does not delay what the store sends.
TEST_F(TierTimes, StoreAndTierAreReadAtTheSameTime) {
  experiment_.placement.stores = {"h3"};
  double both = 0;
  serve({[&](CacheClient& client, Context& context) {
           answer_time(client, context, {1, 2});
           answer_time(client, context, {3, 4});
           sleep_until(context, 1.0);
           both = answer_time(client, context, {1, 2, 5, 6});
         },
         stays_away});
  const double store =
      alpha + (8.0 * 2 + sizeof(Note)) / bandwidth + disk(2) + alpha + record * 2 / bandwidth;
  EXPECT_NEAR(both, request(4) + store + batch(4), precision_s);
}

TEST_F(StoreTimes, AMissTakesARequestAndAMessageMore) {
  experiment_.placement.stores = {"h3"};
  double missed = 0, hit = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   missed = answer_time(client, context, {1, 2, 3});
                                   hit = answer_time(client, context, {3, 1});
                                 },
                                 stays_away});
  EXPECT_NEAR(missed, request(3) + from_store(3) + batch(3), precision_s);
  EXPECT_NEAR(hit, request(2) + batch(2), precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").reading.count(), from_store(3), precision_s);
}

/// Even samples are on the one store, odd ones on the other. The batch waits for the larger part.
TEST_F(StoreTimes, StoresReadAtTheSameTime) {
  experiment_.placement.stores = {"h3", "h4"};
  double missed = 0;
  serve({[&](CacheClient& client, Context& context) {
           missed = answer_time(client, context, {0, 1, 3, 4, 5, 6, 8});
         },
         stays_away});
  // The requests to both leave together; the other one is small.
  EXPECT_NEAR(missed, request(7) + from_store(4) + batch(7), 1e-7);
}

/// The node asks for the samples of the second request at once, and the store reads them while it sends those
/// of the first one.
TEST_F(StoreTimes, AStoreReadsWhileItSends) {
  experiment_.placement.stores = {"h3"};
  double end = 0;
  serve({[&](CacheClient& client, Context& context) {
           client.request({1, 2});
           client.request({3, 4, 5});
           client.receive();
           client.receive();
           end = context.now().count();
         },
         stays_away});
  const double asked = request(2) + alpha + (8.0 * 2 + sizeof(Note)) / bandwidth;
  EXPECT_NEAR(end, asked + disk(2) + disk(3) + data(3) + batch(3), precision_s);
}

/// Two nodes, each with one client, read from one store: the second waits for the disk.
TEST_F(StoreTimes, AStoreServesSeveralNodes) {
  experiment_.placement.stores = {"h3"};
  experiment_.placement.cache_nodes = {"h6", "h7"};
  double first = 0, second = 0;
  serve({[&](CacheClient& client, Context& context) {
           first = answer_time(client, context, {1, 2});
         },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, 0.001);
           answer_time(client, context, {1, 2, 3});
           second = context.now().count();
         }});
  EXPECT_NEAR(first, request(2) + from_store(2) + batch(2), precision_s);
  EXPECT_NEAR(second, request(2) + from_store(2) + disk(3) + data(3) - data(2) + batch(3), 1e-7);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
