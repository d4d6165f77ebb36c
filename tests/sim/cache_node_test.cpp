// How long a cache node takes to answer requests, in closed form: what overlaps and what does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "platforms/load.hpp"
#include "policies/cache/shared.hpp"
#include "policies/sampling/sampler.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/lab.hpp"
#include "tests/support/cache_client.hpp"
#include "tests/support/cache_counts.hpp"
#include "workloads/data/training_replay.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/cache_clients.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem::sim {
namespace {

using lab::alpha;
using lab::bandwidth;
using tandem::testing::cache_sum;
using tandem::testing::CacheClient;

constexpr double latency_s = 0.005, rate = 1e8;
constexpr double record = 3073;
constexpr double precision_s = 5e-8;  // a disk moves whole bytes

class CacheTimes : public ::testing::Test {
 protected:
  /// Hosts h0, h1, ... with a disk each. The workers, clients that are written by hand, are on the first
  /// ones.
  explicit CacheTimes(int clients = 2) {
    experiment_.workload.math = Experiment::Workload::Math::modelled;
    experiment_.workload.model = "lenet";
    experiment_.workload.dataset = "synthetic-colour";
    experiment_.workload.train_samples = 100;
    experiment_.workload.batch = 8;
    experiment_.sync.over = sync::Route::all_reduce;
    experiment_.sync.collective = "ring";
    experiment_.data.source = DataSource::storage;
    experiment_.data.cache_capacity = Bytes(20 * 3073);
    experiment_.stop.rounds = 1;
    experiment_.placement.workers = lab::hosts(clients);
    experiment_.placement.cache_nodes = {"h7"};
  }
  using Client = std::function<void(CacheClient&, Context&)>;
  /// Each client's program; returns what the ranks recorded.
  Journal serve(const std::vector<Client>& clients) {
    const lab::TemporaryFile file("platform.xml", lab::star(8, {}, disk_));
    experiment_.platform = file.path();
    job_ = std::make_unique<Job>(experiment_, platforms::load_platform(file.path()), folder_.path().string());
    std::vector<Journal> journals(static_cast<std::size_t>(job_->roster().size()));
    const auto change = [&](SimulationSetting& setting) {
      setting.body = [&](Context& context) {
        const auto rank = static_cast<std::size_t>(context.rank());
        if (rank >= clients.size()) {
          if (!keeps_operations_) return run_role(*job_, context, journals[rank]);
          RecordingContext recording(context, journals[rank].operations);
          return run_role(*job_, recording, journals[rank]);
        }
        const auto nodes = job_->roster().ranks_of(Roster::Role::cache_node);
        CacheClient client(context, job_->data(), nodes[cache_node_of(job_->roster(), rank)]);
        clients[rank](client, context);
        client.close();
      };
    };
    simulate_job(*job_, {.change = change});
    Journal all;
    for (Journal& own : journals) all.append(std::move(own));
    return all;
  }
  /// The whole job.
  Journal train() {
    const lab::TemporaryFile file("platform.xml", lab::star(8, {}, disk_));
    experiment_.platform = file.path();
    job_ = std::make_unique<Job>(experiment_, platforms::load_platform(file.path()), folder_.path().string());
    return simulate_job(*job_, {}).journal;
  }
  /// Not even its last message meets another one.
  static void stays_away(CacheClient&, Context& context) { sleep_until(context, 9.0); }
  static void sleep_until(Context& context, double time_s) {
    Pending sleeping = context.sleep(Seconds(time_s) - context.now());
    context.wait(sleeping);
  }
  /// Until a batch of so many samples is there, since it was requested, if nothing is in its way.
  static double request(int samples) { return alpha + (8.0 * samples + sizeof(Note)) / bandwidth; }
  static double batch(int samples) { return alpha + (record * samples + sizeof(Note)) / bandwidth; }
  static double disk(int samples) { return samples * (latency_s + record / rate); }

  std::string disk_ =
      "<disk id='disk' read_bw='100MBps' write_bw='50MBps'><prop id='tandem:latency' value='5ms'/></disk>";
  bool keeps_operations_ = false;
  Experiment experiment_;
  std::unique_ptr<Job> job_;
  tandem::testing::TemporaryFolder folder_;
};

/// The time from a request to its batch.
double answer_time(CacheClient& client, Context& context, std::vector<SampleId> ids) {
  const Seconds start = context.now();
  client.request(std::move(ids));
  client.receive();
  return (context.now() - start).count();
}

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

class StoreTimes : public CacheTimes {
 protected:
  /// A read by a store, until its data are at the node.
  static double from_store(int samples) {
    return alpha + (8.0 * samples + sizeof(Note)) / bandwidth + disk(samples) + data(samples);
  }
  static double data(int samples) { return alpha + record * samples / bandwidth; }
};

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

/// Two nodes, each with one client, and a store. Even samples belong to the first node, odd ones to the
/// second, and nobody else keeps them.
class PeerTimes : public StoreTimes {
 protected:
  PeerTimes() {
    experiment_.placement.stores = {"h3"};
    experiment_.placement.cache_nodes = {"h6", "h7"};
    experiment_.data.cache = "minio";
    experiment_.data.peers = Peers::partition;
    experiment_.data.copies = 1;
    keeps_operations_ = true;
  }
  /// A node asks for some samples and gets those that are there.
  static double from_peer(int asked, int there) {
    return alpha + (8.0 * asked + sizeof(Note)) / bandwidth + alpha +
           (record * there + sizeof(Note)) / bandwidth;
  }
  static std::int64_t messages(const Journal& journal, const std::string& channel) {
    return std::ranges::count_if(journal.operations, [&](const OperationRecord& operation) {
      return operation.kind == "send" && operation.channel == channel;
    });
  }
};

/// In each direction there is one message: the ids, and the samples.
TEST_F(PeerTimes, AHitAtAPeerTakesARequestAndTheSamples) {
  double first = 0, again = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2, 4});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 1.0);
                                   first = answer_time(client, context, {2, 4});
                                   again = answer_time(client, context, {4});
                                 }});
  EXPECT_NEAR(first, request(2) + from_peer(2, 2) + batch(2), precision_s);
  EXPECT_NEAR(again, request(1) + from_peer(1, 1) + batch(1), precision_s);
  const CacheRecord peer = cache_sum(journal, "peer");
  EXPECT_EQ(peer.samples, 3);
  EXPECT_EQ(peer.bytes, 3 * 3073);
  EXPECT_NEAR(peer.reading.count(), from_peer(2, 2) + from_peer(1, 1), precision_s);
  EXPECT_NEAR(peer.blocked.count(), from_peer(2, 2) + from_peer(1, 1), precision_s);
  EXPECT_EQ(cache_sum(journal, "store").samples, 2);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 0);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 0);
  EXPECT_EQ(messages(journal, "peer-data"), 2);
  // And one from each node to the other when its client has ended.
  EXPECT_EQ(messages(journal, "peer-reads"), 4);
}

/// The peer reads nothing for others: an answer without samples costs a round trip, and the rest is as if
/// there were no peer.
TEST_F(PeerTimes, WhatAPeerLacksComesFromTheStore) {
  double missed = 0;
  const Journal journal = serve({stays_away, [&](CacheClient& client, Context& context) {
                                   missed = answer_time(client, context, {6, 8, 10});
                                 }});
  EXPECT_NEAR(missed, request(3) + from_peer(3, 0) + from_store(3) + batch(3), precision_s);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 0);
  EXPECT_EQ(cache_sum(journal, "peer").bytes, 0);
  EXPECT_EQ(cache_sum(journal, "store").samples, 3);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 3);
  EXPECT_NEAR(cache_sum(journal, "peer").reading.count(), from_peer(3, 0), precision_s);
  EXPECT_NEAR(cache_sum(journal, "store").blocked.count(), from_peer(3, 0) + from_store(3), precision_s);
  // One request to the store for all that is not there.
  EXPECT_EQ(messages(journal, "reads"), 3);
}

/// One's own samples come from the store while the other node answers for the others.
TEST_F(PeerTimes, APartOfARequestMayBeThere) {
  double missed = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2, 4});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 1.0);
                                   missed = answer_time(client, context, {2, 8, 4, 6});
                                 }});
  EXPECT_NEAR(missed, request(4) + from_peer(4, 2) + from_store(2) + batch(4), precision_s);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 2);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 2);
  EXPECT_EQ(cache_sum(journal, "store").samples, 4);
}

/// The first node waits for the store meanwhile.
TEST_F(PeerTimes, ANodeServesOthersWhileItReads) {
  double hit = 0;
  serve({[&](CacheClient& client, Context& context) {
           answer_time(client, context, {2});
           sleep_until(context, 1.0);
           answer_time(client, context, {4, 6, 8});
         },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, 1.001);
           hit = answer_time(client, context, {2});
         }});
  EXPECT_NEAR(hit, request(1) + from_peer(1, 1) + batch(1), precision_s);
}

/// A node whose client has ended answers until the clients of the others have ended.
TEST_F(PeerTimes, ANodeServesOthersWhenItsOwnClientHasEnded) {
  double late = 0;
  serve({[&](CacheClient& client, Context& context) { answer_time(client, context, {2}); },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, 5.0);
           late = answer_time(client, context, {2});
         }});
  EXPECT_NEAR(late, request(1) + from_peer(1, 1) + batch(1), precision_s);
}

/// Without a limit on copies, a node keeps what it got from another one.
TEST_F(PeerTimes, ACopyIsServedByTheNodeItself) {
  experiment_.data.copies = 0;
  double hit = 0;
  const Journal journal =
      serve({[&](CacheClient& client, Context& context) { answer_time(client, context, {2}); },
             [&](CacheClient& client, Context& context) {
               sleep_until(context, 1.0);
               answer_time(client, context, {2, 4});
               hit = answer_time(client, context, {4, 2});
             }});
  EXPECT_NEAR(hit, request(2) + batch(2), precision_s);
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 2);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 1);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 1);
}

/// What left memory of the peer is read from its disk, and stays there.
TEST_F(PeerTimes, APeerReadsItsTierOnTheDisk) {
  experiment_.data.cache = "lru";
  experiment_.data.cache_capacity = Bytes(3073);
  experiment_.data.disk_capacity = Bytes(3 * 3073);
  std::vector<double> hits;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2});
                                   answer_time(client, context, {4});
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   for (const double start_s : {1.0, 2.0}) {
                                     sleep_until(context, start_s);
                                     hits.push_back(answer_time(client, context, {2}));
                                   }
                                 }});
  ASSERT_EQ(hits.size(), 2U);
  for (const double hit : hits)
    EXPECT_NEAR(hit, request(1) + from_peer(1, 1) + disk(1) + batch(1), precision_s);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 2);
  EXPECT_NEAR(cache_sum(journal, "tier1").reading.count(), 2 * disk(1), precision_s);
}

std::unique_ptr<cache::CachePolicy> shared_minio(const cache::Setting& setting) {
  return cache::share(cache::catalog().find("minio").make.node(setting),
                      {.owners = cache::Owners(cache::Owners::Rule::in_turn, setting.nodes),
                       .node = setting.node,
                       .copies = 1});
}

/// Three workers, each with a node of its own, share the samples of each epoch. What a node has of its own
/// samples depends on the epochs before alone, so time plays no part.
class PeerCounts : public PeerTimes {
 protected:
  static constexpr std::int64_t epochs = 4;
  PeerCounts() {
    experiment_.workload.train_samples = 120;
    experiment_.placement.workers = lab::hosts(3);
    experiment_.placement.cache_nodes = {"h5", "h6", "h7"};
    experiment_.data.cache_capacity = Bytes(30 * 3073);
    experiment_.data.sampling = "shuffled";
    experiment_.data.prefetch = 0;
    experiment_.stop.rounds = 5 * epochs;
  }
  /// The job, and its replay without time, whose reads are returned.
  std::vector<EpochReads> expect_same_counts(const CatalogEntry<cache::Factory>& policy) {
    const Journal journal = train();
    const auto& sampler = sampling::samplers().find("shuffled");
    const auto lists = sampler.make.make({.samples = 120,
                                          .batch = 8,
                                          .seed = experiment_.seed,
                                          .options = Options::resolve("shuffled", sampler.options, {})});
    auto replayed = replay_training({.manifest = job_->data().manifest(),
                                     .epochs = epochs,
                                     .batch = 8,
                                     .nodes = 3,
                                     .tiers = {experiment_.data.cache_capacity},
                                     .policy = &policy,
                                     .policy_options = Options::resolve(policy.name, policy.options, {}),
                                     .seed = experiment_.seed,
                                     .jobs = {lists.get()}});
    EXPECT_EQ(std::ssize(replayed), epochs);
    for (const EpochReads& epoch : replayed) {
      SCOPED_TRACE(epoch.epoch);
      const CacheLedger& ledger = epoch.ledger;
      EXPECT_EQ(cache_sum(journal, "tier0", epoch.epoch).samples, ledger.local.samples);
      EXPECT_EQ(cache_sum(journal, "peer", epoch.epoch).samples, ledger.peer.samples);
      EXPECT_EQ(cache_sum(journal, "peer", epoch.epoch).bytes, ledger.peer.bytes);
      EXPECT_EQ(cache_sum(journal, "store", epoch.epoch).samples, ledger.storage.samples);
      EXPECT_EQ(cache_sum(journal, "peer-miss", epoch.epoch).samples, ledger.peer_misses);
    }
    return replayed;
  }
};

TEST_F(PeerCounts, OfAPartitionedCacheAreThoseOfItsReplay) {
  const auto replayed = expect_same_counts(
      {.name = "shared minio", .summary = "", .paper = "", .options = {}, .make = {.node = shared_minio}});
  EXPECT_GT(replayed.back().ledger.peer.samples, 20);
  EXPECT_GT(replayed.front().ledger.peer_misses, 20);
}

/// A node keeps the first samples of its first list, and all others know.
TEST_F(PeerCounts, OfPartitionedMinioAreThoseOfItsReplay) {
  experiment_.data.cache = "partitioned-minio";
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  const auto replayed = expect_same_counts(cache::catalog().find("partitioned-minio"));
  EXPECT_EQ(replayed.front().ledger.peer.samples, 0);
  for (std::size_t epoch = 1; epoch < replayed.size(); ++epoch) {
    const CacheLedger& ledger = replayed[epoch].ledger;
    EXPECT_EQ(ledger.local.samples + ledger.peer.samples, 90) << "all that three nodes keep";
    EXPECT_EQ(ledger.peer_misses, 0);
  }
}

/// Its stripe is read before the job, or rather while that begins: who wants a sample of it waits for it.
TEST_F(PeerCounts, OfHoardAreThoseOfItsReplay) {
  experiment_.data.cache = "hoard";
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  const auto replayed = expect_same_counts(cache::catalog().find("hoard"));
  EXPECT_GT(replayed.front().ledger.peer.samples, 40);
  EXPECT_GT(replayed.front().ledger.peer_misses, 0) << "a stripe is larger than its node";
}

/// A sample that a node reads for itself goes to another one when it is there.
TEST_F(PeerTimes, WhatAPeerReadsForItselfIsWaitedFor) {
  double first = 0, second = 0;
  const Journal journal = serve({[&](CacheClient& client, Context& context) {
                                   answer_time(client, context, {2});
                                   first = context.now().count();
                                 },
                                 [&](CacheClient& client, Context& context) {
                                   sleep_until(context, 0.001);
                                   answer_time(client, context, {2});
                                   second = context.now().count();
                                 }});
  // Both messages leave the first node together, which delays the second one a little.
  EXPECT_NEAR(first, request(1) + from_store(1) + batch(1), 5e-6);
  EXPECT_NEAR(second, request(1) + from_store(1) + 2 * batch(1), 1e-5);
  EXPECT_EQ(cache_sum(journal, "store").samples, 1);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 1);
}

}  // namespace
}  // namespace tandem::sim
