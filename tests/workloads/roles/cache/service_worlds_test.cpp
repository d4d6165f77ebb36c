// In every order of events, cache nodes give each worker the samples that it asked for, in its order, and
// count each once; they keep no more than they may, and nothing waits for ever.
#include "tests/workloads/roles/cache/service_worlds.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "policies/cache/text.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::ServiceWorld;

constexpr int samples = 40;
constexpr std::int64_t record = 785;

struct Caches {
  const char* name;
  const char* policy;
  int in_memory;  ///< samples of each node
  int on_disk = 0;
  int stores = 0;  ///< 0: each node reads its own disk
  int nodes = 1;
  Peers peers = Peers::none;
  int copies = 0;
  int workers = 3;
};

class WorldsOfServices : public ::testing::Test {
 protected:
  static Experiment reading(const Caches& caches) {
    const std::vector<std::string> hosts = {"a", "b", "c"};
    Experiment experiment = testing::cached_experiment("synthetic", samples, 6);
    experiment.placement.workers.assign(static_cast<std::size_t>(caches.workers), "d");
    experiment.placement.cache_nodes.assign(hosts.begin(), hosts.begin() + caches.nodes);
    experiment.placement.stores.assign(hosts.begin(), hosts.begin() + caches.stores);
    if (caches.peers == Peers::directory) experiment.placement.directory = "d";
    experiment.data.cache = caches.policy;
    experiment.data.peers = caches.peers;
    experiment.data.copies = caches.copies;
    experiment.data.cache_capacity = Bytes(caches.in_memory * record);
    experiment.data.disk_capacity = Bytes(caches.on_disk * record);
    return experiment;
  }
  Job job(const Caches& caches) const {
    return {reading(caches), testing::hosts_with_disks("service_worlds_test", {"a", "b", "c", "d"}),
            folder_.path().string()};
  }
  /// What was recorded, given to a fresh policy, leads to the same decisions.
  static void expect_replay(const Job& job, ServiceWorld& world) {
    for (std::size_t node = 0; node < world.size(); ++node) {
      const auto policy =
          job.data().make_cache_policy(static_cast<int>(node), static_cast<int>(world.size()));
      // A node without workers decides only where others ask it for a sample.
      if (world.node(node).jobs.own().clients > 0) {
        EXPECT_FALSE(world.node(node).journal.decisions.empty());
      }
      for (const DecisionRecord& decision : world.node(node).journal.decisions) {
        cache::Decisions decisions;
        cache::replay_event(*policy, decision.event, decisions);
        EXPECT_EQ(decision.decisions, cache::to_text(decisions)) << decision.event;
      }
    }
  }
  /// The sum of all nodes.
  static std::int64_t sum(ServiceWorld& world, const char* from) {
    std::int64_t all = 0;
    for (std::size_t node = 0; node < world.size(); ++node)
      all += cache_sum(world.node(node).journal, from).samples;
    return all;
  }
  testing::TemporaryFolder folder_;
};

class ServiceWorlds : public WorldsOfServices, public ::testing::WithParamInterface<Caches> {};

TEST_P(ServiceWorlds, EachBatchHasItsSamplesAndEachSampleCountsOnce) {
  const Job of = job(GetParam());
  std::int64_t from_peers = 0, in_vain = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    ServiceWorld world(of, seed);
    world.run(12);
    for (std::size_t node = 0; node < world.size(); ++node) {
      const Journal& journal = world.node(node).journal;
      std::int64_t delivered = 0;
      for (const CacheRecord& row : journal.caches) {
        EXPECT_GE(row.samples, 0) << row.from;
        if (!row.from.ends_with("-messages")) {
          EXPECT_EQ(row.bytes, row.samples * record) << row.from;
        }
        if (counts_delivered(row.from)) delivered += row.samples;
      }
      EXPECT_EQ(delivered, std::ssize(journal.requests));
      from_peers += cache_sum(journal, "peer").samples;
      in_vain += cache_sum(journal, "peer-miss").samples;
    }
    if (seed == 0) expect_replay(of, world);
  }
  const bool shares = GetParam().nodes > 1;
  EXPECT_EQ(from_peers > 0, shares && GetParam().in_memory > 0);
  // A directory knows who has a sample, unless that changes in the moment.
  if (GetParam().peers != Peers::directory) {
    EXPECT_EQ(in_vain > 0, shares);
  }
}

/// The requests are random, so caches that know nothing of the future are far from it.
TEST_P(ServiceWorlds, DeliverNoMoreFromTiersThanBeladysBound) {
  const Job of = job(GetParam());
  if (GetParam().nodes > 1 || of.data().cache_factory().needs.idle) return;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    ServiceWorld world(of, seed);
    world.run(12);
    std::int64_t most = 0, local = 0, cold = 0, cold_most = 0;
    for (const CacheRecord& row : world.node(0).journal.caches) {
      const bool is_local = row.from.starts_with("tier");
      if (row.epoch == 0) {
        cold += is_local ? row.bytes : 0;
        cold_most += row.from == "belady" ? row.bytes : 0;
        continue;
      }
      local += is_local ? row.bytes : 0;
      // That of all later epochs; others leave out the last one.
      if (row.from == "belady") most = std::max(most, row.bytes);
    }
    EXPECT_LE(local, most);
    EXPECT_LE(cold, cold_most);
    EXPECT_EQ(most > 0, GetParam().in_memory + GetParam().on_disk > 0);
  }
}

std::string name_of(const ::testing::TestParamInfo<Caches>& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(
    OneNode, ServiceWorlds,
    ::testing::Values(Caches{"Nothing", "lru", 0}, Caches{"Few", "lru", 3}, Caches{"All", "arc", 40},
                      Caches{"Sieve", "sieve", 12}, Caches{"Random", "random", 7, 0, 3},
                      Caches{"Minio", "minio", 10, 0, 3}, Caches{"Disk", "lru", 3, 8},
                      Caches{"OnlyDisk", "lru", 0, 9, 1}, Caches{"RandomDisk", "random", 2, 4, 2},
                      Caches{"MinioDisk", "minio", 5, 12, 2}, Caches{"AllOnDisk", "lru", 10, 40, 1},
                      Caches{"Hoard", "hoard", 20, 0, 2}),
    name_of);
INSTANTIATE_TEST_SUITE_P(Owners, ServiceWorlds,
                         ::testing::Values(Caches{"OneCopy", "minio", 8, 0, 1, 3, Peers::partition, 1, 4},
                                           Caches{"AllCopies", "lru", 8, 0, 1, 3, Peers::partition, 0, 4},
                                           Caches{"RingOfTwo", "lru", 10, 0, 0, 2, Peers::ring, 1, 4},
                                           Caches{"TwoCopies", "random", 5, 0, 1, 3, Peers::ring, 2, 4},
                                           Caches{"Disks", "lru", 2, 12, 1, 3, Peers::partition, 1, 4},
                                           Caches{"OwnDisks", "lru", 3, 9, 0, 3, Peers::partition, 2, 4},
                                           Caches{"NothingKept", "lru", 0, 0, 1, 3, Peers::partition, 0, 4},
                                           Caches{"NodesWithoutWorkers", "minio", 20, 0, 1, 3, Peers::ring, 0,
                                                  2},
                                           Caches{"Hoard", "hoard", 8, 0, 1, 3, Peers::plan, 0, 4},
                                           Caches{"HoardOfDisks", "hoard", 5, 0, 0, 3, Peers::plan, 0, 4}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Directory, ServiceWorlds,
                         ::testing::Values(Caches{"AllCopies", "lru", 4, 0, 1, 3, Peers::directory, 0, 4},
                                           Caches{"OneCopy", "minio", 8, 0, 1, 3, Peers::directory, 1, 4},
                                           Caches{"TwoCopies", "random", 5, 0, 1, 3, Peers::directory, 2, 4},
                                           Caches{"Disks", "lru", 2, 12, 1, 3, Peers::directory, 1, 4},
                                           Caches{"OwnDisks", "sieve", 3, 9, 0, 3, Peers::directory, 2, 4},
                                           Caches{"Nothing", "lru", 0, 0, 1, 3, Peers::directory, 0, 4},
                                           Caches{"NodesWithoutWorkers", "lru", 3, 0, 1, 3, Peers::directory,
                                                  1, 2},
                                           Caches{"OneNode", "lru", 8, 0, 1, 1, Peers::directory, 1, 4}),
                         name_of);

/// Where every node has room for whatever it may keep, each sample is read from the store once, whoever asks
/// for it: a node that asks while another one reads the sample waits for that. With owners it is not so: they
/// read what they want themselves.
TEST_F(WorldsOfServices, WithADirectoryEachSampleIsReadFromTheStoreOnce) {
  for (const char* policy : {"lru", "minio"}) {
    const Job of = job({"", policy, samples, 0, 1, 3, Peers::directory, 1, 5});
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      ServiceWorld world(of, seed);
      world.run(20);
      std::set<SampleId> wanted;
      for (std::size_t node = 0; node < world.size(); ++node)
        for (const RequestRecord& request : world.node(node).journal.requests) wanted.insert(request.id);
      EXPECT_EQ(sum(world, "store"), std::ssize(wanted));
      EXPECT_EQ(sum(world, "peer-miss"), 0);
      EXPECT_EQ(sum(world, "withdrawn"), 0);
      EXPECT_EQ(sum(world, "published"), std::ssize(wanted)) << "nobody else keeps it";
      EXPECT_GT(sum(world, "peer"), 0);
    }
  }
}

TEST_F(WorldsOfServices, TheDirectoryIsNotifiedInFewMessages) {
  const Job of = job({"", "lru", 3, 0, 1, 3, Peers::directory, 2, 5});
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    ServiceWorld world(of, seed);
    world.run(12);
    EXPECT_GT(sum(world, "withdrawn"), 0);
    EXPECT_GT(sum(world, "lookup"), 0);
    EXPECT_GT(sum(world, "update-messages"), 0);
    EXPECT_EQ(sum(world, "lookup-messages") % 2, 0) << "each has an answer";
    for (std::size_t node = 0; node < world.size(); ++node) {
      const Journal& journal = world.node(node).journal;
      // At most one for a batch, one before each lookup, and those of repairs.
      EXPECT_LE(cache_sum(journal, "update-messages").samples,
                std::ssize(journal.requests) + cache_sum(journal, "lookup-messages").samples +
                    cache_sum(journal, "repaired").samples);
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
