// How long cache nodes take to answer each other, in closed form, and what they count.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "policies/cache/shared.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/sim/cache_times.hpp"
#include "workloads/data/training_replay.hpp"
#include "workloads/roles/cache/peer_parts.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

/// Even samples belong to the first node, odd ones to the second, and nobody else keeps them.
class PeerTimes : public PairTimes {
 protected:
  PeerTimes() : PairTimes("minio", Peers::partition) {}
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

/// A policy keeps copies of what another node owns, and reads them in the background. The batch that waits
/// for one which is not there gets it from the store, and counts as from there.
TEST_F(PeerTimes, ACopyThatIsNotThereComesFromTheStore) {
  experiment_.data.cache = "partitioned-minio";
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  experiment_.data.sampling = "shuffled";
  experiment_.data.prefetch = 0;
  experiment_.data.cache_capacity = Bytes(60 * 3073);
  const Journal journal = serve({stays_away, [&](CacheClient& client, Context&) {
                                   const auto list =
                                       job_->data().lists().of(0, {}, job_->data().deals().first_list());
                                   const SampleId own = list->ids[1];
                                   std::vector<SampleId> candidates(100);
                                   std::iota(candidates.begin(), candidates.end(), SampleId{0});
                                   Rng::stream(experiment_.seed, "copies", 1).shuffle(candidates);
                                   // The first one that the other node owns.
                                   const auto copy = std::ranges::find_if(candidates, [&](SampleId id) {
                                     return (std::ranges::find(list->ids, id) - list->ids.begin()) % 2 == 0;
                                   });
                                   client.request({own}, 0);
                                   client.receive();
                                   client.request({own}, 1);
                                   client.request({*copy}, 1);
                                   client.receive();
                                   client.receive();
                                 }});
  EXPECT_EQ(cache_sum(journal, "tier0").samples, 1);
  EXPECT_EQ(cache_sum(journal, "store").samples, 2);
  EXPECT_EQ(cache_sum(journal, "store").bytes, 2 * 3073);
  EXPECT_EQ(cache_sum(journal, "peer").samples, 0);
  EXPECT_EQ(cache_sum(journal, "peer-miss").samples, 1);
  EXPECT_GE(messages(journal, "peer-reads"), 3) << "it was asked for, and both nodes said their ends";
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

/// Three nodes, each with one client, and room for all samples: sample i belongs to node i mod 3. Reads of
/// other nodes are so large that they are requested in parts.
class LargeReads : public PeerTimes {
 protected:
  LargeReads() {
    experiment_.workload.train_samples = 2000;
    experiment_.workload.batch = 500;
    experiment_.placement.workers = lab::hosts(3);
    experiment_.placement.cache_nodes = {"h5", "h6", "h7"};
    experiment_.data.cache_capacity = Bytes(2000 * 3073);
  }
  static std::vector<SampleId> of_node(SampleId node, SampleId first, SampleId count) {
    std::vector<SampleId> ids;
    for (SampleId i = first; i < first + count; ++i) ids.push_back(3 * i + node);
    return ids;
  }
  /// The node of the client has its own samples from then on.
  static Client keeps(SampleId node, SampleId count) {
    return
        [=](CacheClient& client, Context& context) { answer_time(client, context, of_node(node, 0, count)); };
  }
  /// The samples of a part, and of the last part of so many.
  static constexpr int part = static_cast<int>(most_of_peer_part.count()) / 3073;
  static int rest(int samples) { return samples - (samples - 1) / part * part; }
  static double bytes_s(int samples) { return (record * samples + sizeof(Note)) / bandwidth; }
  /// Nobody else sends anything then.
  static constexpr double start_s = 20.0;
};

/// The next part is requested before the one before it has come, so the link does not rest.
TEST_F(LargeReads, TakeNoLongerThanAllAtOnce) {
  constexpr int samples = 450, parts = 6;
  double all = 0;
  const Journal journal = serve({keeps(0, samples), stays_away, [&](CacheClient& client, Context& context) {
                                   sleep_until(context, start_s);
                                   all = answer_time(client, context, of_node(0, 0, samples));
                                 }});
  EXPECT_EQ(messages(journal, "peer-data"), parts);
  EXPECT_EQ(cache_sum(journal, "peer").samples, samples);
  EXPECT_EQ(cache_sum(journal, "peer").bytes, samples * 3073);
  EXPECT_NEAR(
      all,
      request(samples) + from_peer(part, samples) + (parts - 1) * sizeof(Note) / bandwidth + batch(samples),
      1e-7);
}

/// Their samples are on their disks, which takes much longer than sending them.
class LargeReadsOfDisks : public LargeReads {
 protected:
  LargeReadsOfDisks() {
    experiment_.data.cache_capacity = Bytes(0);
    experiment_.data.disk_capacity = Bytes(2000 * 3073);
  }
};

TEST_F(LargeReadsOfDisks, DisksOfTwoNodesServeAThirdAtTheSameTime) {
  constexpr int samples = 200;
  double both = 0;
  const Journal journal =
      serve({keeps(0, samples), keeps(1, samples), [&](CacheClient& client, Context& context) {
               sleep_until(context, start_s);
               auto ids = of_node(0, 0, samples);
               const auto others = of_node(1, 0, samples);
               ids.insert(ids.end(), others.begin(), others.end());
               both = answer_time(client, context, std::move(ids));
             }});
  EXPECT_EQ(cache_sum(journal, "peer").samples, 2 * samples);
  EXPECT_EQ(messages(journal, "peer-data"), 6);
  // The last parts of both share the link.
  const double requested = request(2 * samples) + alpha + 2 * (8.0 * part + sizeof(Note)) / bandwidth;
  EXPECT_NEAR(both, requested + disk(samples) + alpha + 2 * bytes_s(rest(samples)) + batch(2 * samples),
              1e-6);
}

/// The first node has its samples in memory, and the second one on its disk.
TEST_F(LargeReads, ANodeThatAnswersLateDelaysNoOther) {
  constexpr int samples = 200;
  double first = 0, second = 0;
  serve({keeps(0, samples),
         // What the second node begins to read then, it has later.
         [&](CacheClient& client, Context& context) {
           sleep_until(context, start_s);
           answer_time(client, context, of_node(1, 0, samples));
         },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, start_s + 0.001);
           const Seconds start = context.now();
           client.request(of_node(1, 0, samples));
           client.request(of_node(0, 0, samples));
           client.receive();
           first = (context.now() - start).count();
           client.receive();
           second = (context.now() - start).count();
         }});
  EXPECT_GT(first, disk(samples) - 0.001);
  // It is there, and follows on the link to the client.
  EXPECT_NEAR(second - first, bytes_s(samples), 1e-6);
}

/// Its link passes a hundredth of what others do.
TEST_F(LargeReads, ANodeThatReceivesSlowlyDelaysNoOther) {
  constexpr int samples = 200;
  slow_link_ = "l6";
  double slow = 0, fast = 0;
  serve({keeps(0, samples),
         [&](CacheClient& client, Context& context) {
           sleep_until(context, start_s);
           slow = answer_time(client, context, of_node(0, 0, samples));
         },
         [&](CacheClient& client, Context& context) {
           sleep_until(context, start_s + 0.001);
           fast = answer_time(client, context, of_node(0, 0, samples));
         }});
  EXPECT_GT(slow, 100 * bytes_s(samples));
  // The slow one takes a hundredth of the link.
  EXPECT_GT(fast, request(samples) + from_peer(part, samples) + batch(samples));
  EXPECT_LT(fast, request(samples) + 1.02 * from_peer(part, samples) + batch(samples));
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
    // Those of options come first.
    const cache::Rates rates{.tiers = {{BytesPerSecond(1), Seconds(0)}}, .peer = {}, .store = {}};
    const auto& sampler = sampling::samplers().find("shuffled");
    const auto lists = sampler.make.make({.samples = 120,
                                          .batch = 8,
                                          .seed = experiment_.seed,
                                          .options = Options::resolve("shuffled", sampler.options, {})});
    auto replayed = replay_training(
        {.manifest = job_->data().manifest(),
         .epochs = epochs,
         .batch = 8,
         .nodes = 3,
         .tiers = {experiment_.data.cache_capacity},
         .policy = &policy,
         .policy_options = Options::resolve(policy.name, policy.options, experiment_.data.cache_options),
         .rates = &rates,
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

/// Each reads its plan ahead; the others wait for a sample of it that is not there yet.
TEST_F(PeerCounts, OfNoPfsAreThoseOfItsReplay) {
  experiment_.data.cache = "nopfs";
  experiment_.data.cache_options = {
      {"memory_mb_s", 1e4}, {"peer_mb_s", 1e3}, {"store_mb_s", 100.0}, {"store_latency_us", 5000.0}};
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  const auto replayed = expect_same_counts(cache::catalog().find("nopfs"));
  for (const EpochReads& epoch : replayed) {
    EXPECT_GT(epoch.ledger.local.samples, 20) << epoch.epoch;
    EXPECT_GT(epoch.ledger.peer.samples, 5) << epoch.epoch;
    EXPECT_EQ(epoch.ledger.peer_misses, 0) << epoch.epoch;
  }
}

/// Without a directory each node computes what the others keep; the replay has one.
TEST_F(PeerCounts, OfForesightAreThoseOfItsReplay) {
  experiment_.data.cache = "foresight";
  experiment_.data.cache_options = {{"window", 0.0}, {"package", std::int64_t{1}}};
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  const auto replayed = expect_same_counts(cache::catalog().find("foresight"));
  EXPECT_EQ(replayed.front().ledger.peer.samples, 0);
  for (std::size_t epoch = 1; epoch < replayed.size(); ++epoch) {
    const CacheLedger& ledger = replayed[epoch].ledger;
    EXPECT_EQ(ledger.local.samples + ledger.peer.samples, 90) << "all that three nodes keep";
    EXPECT_EQ(ledger.peer_misses, 0);
  }
}

/// Each node delivers what it keeps, whichever worker wanted it.
TEST_F(PeerCounts, OfLocalityAwareNodesAreThoseOfTheirReplay) {
  experiment_.data.cache = "locality-aware";
  experiment_.data.peers = Peers::plan;
  experiment_.data.copies = 0;
  const auto replayed = expect_same_counts(cache::catalog().find("locality-aware"));
  for (std::size_t epoch = 1; epoch < replayed.size(); ++epoch) {
    const CacheLedger& ledger = replayed[epoch].ledger;
    EXPECT_GT(ledger.local.samples, 70) << "a third of 90 without exchanging";
    EXPECT_EQ(ledger.local.samples + ledger.peer.samples, 90);
    EXPECT_EQ(replayed[epoch].omitted + replayed[epoch].repeated, 0);
  }
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

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
