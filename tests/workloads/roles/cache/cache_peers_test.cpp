// Cache nodes that ask each other give every client the records that it asked for, in whichever order
// messages arrive and reads end.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "policies/cache/text.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/workloads/roles/cache/cache_nodes.hpp"
#include "workloads/records/cache_rows.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::CacheClient;
using testing::CacheNodes;
using testing::FakeWorld;

/// So large that a node asks another one in several parts for what a batch needs.
constexpr const char* photographs = "synthetic-imagenet";

struct Sharing {
  const char* name;
  const char* policy;
  Peers peers;
  int copies = 0;
  int samples = 8;  ///< of the memory of each node
  int on_disk = 0;
  int stores = 1;
  int nodes = 3;
  int workers = 4;
  const char* dataset = "synthetic";
};

/// Nodes that ask each other: in every order of events, each client gets the samples that it asked for, all
/// nodes end, and each delivered sample counts once.
class SharingNodes : public CacheNodes, public ::testing::WithParamInterface<Sharing> {
 protected:
  static std::int64_t record_of(const Sharing& setting) {
    return setting.dataset == photographs ? 112898 : 785;
  }
  static Experiment sharing(const Sharing& setting) {
    const std::vector<std::string> hosts = {"a", "b", "c"};
    Experiment experiment = reading(setting.workers, {hosts.begin(), hosts.begin() + setting.nodes});
    experiment.workload.dataset = setting.dataset;
    const std::int64_t record = record_of(setting);
    experiment.data.cache = setting.policy;
    experiment.data.peers = setting.peers;
    experiment.data.copies = setting.copies;
    experiment.data.cache_capacity = Bytes(setting.samples * record);
    experiment.data.disk_capacity = Bytes(setting.on_disk * record);
    if (setting.stores > 0) experiment.placement.stores = {"d"};
    if (setting.peers == Peers::directory) experiment.placement.directory = "d";
    return experiment;
  }
};

TEST_P(SharingNodes, EveryBatchHasItsSamples) {
  const Experiment experiment = sharing(GetParam());
  std::int64_t from_peers = 0, in_vain = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    for (const Journal& journal : serve(experiment, seed)) {
      std::int64_t delivered = 0;
      for (const CacheRecord& row : journal.caches) {
        EXPECT_GE(row.samples, 0) << row.from;
        if (!row.from.ends_with("-messages")) {
          EXPECT_EQ(row.bytes, row.samples * record_of(GetParam())) << row.from;
        }
        if (counts_delivered(row.from)) delivered += row.samples;
      }
      EXPECT_EQ(delivered, std::ssize(journal.requests));
      from_peers += cache_sum(journal, "peer").samples;
      in_vain += cache_sum(journal, "peer-miss").samples;
    }
  }
  if (GetParam().nodes == 1) {
    EXPECT_EQ(from_peers + in_vain, 0);
    return;
  }
  // A directory knows who has a sample, unless that changes in the moment.
  if (GetParam().peers != Peers::directory) {
    EXPECT_GT(in_vain, 0);
  }
  EXPECT_EQ(from_peers > 0, GetParam().samples > 0);
}

std::string name_of_sharing(const ::testing::TestParamInfo<Sharing>& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(Nodes, SharingNodes,
                         ::testing::Values(Sharing{"OneCopy", "minio", Peers::partition, 1},
                                           Sharing{"RingOfTwo", "lru", Peers::ring, 1, 10, 0, 0, 2},
                                           Sharing{"Disks", "lru", Peers::partition, 1, 2, 12},
                                           Sharing{"NodesWithoutWorkers", "minio", Peers::ring, 0, 20, 0, 1,
                                                   3, 2},
                                           Sharing{"Directory", "lru", Peers::directory, 0, 4},
                                           Sharing{"DirectoryOfTwoCopies", "random", Peers::directory, 2, 5},
                                           Sharing{"DirectoryOfDisks", "lru", Peers::directory, 1, 2, 12},
                                           Sharing{"Hoard", "hoard", Peers::plan}),
                         name_of_sharing);
INSTANTIATE_TEST_SUITE_P(
    LongNodes, SharingNodes,
    ::testing::Values(Sharing{"Lru", "lru", Peers::partition},
                      Sharing{"TwoCopies", "random", Peers::ring, 2, 5},
                      Sharing{"OwnDisks", "lru", Peers::partition, 2, 3, 9, 0},
                      Sharing{"NothingKept", "lru", Peers::partition, 0, 0},
                      Sharing{"Alone", "lru", Peers::partition, 1, 8, 0, 1, 1},
                      Sharing{"DirectoryOfOneCopy", "minio", Peers::directory, 1},
                      Sharing{"DirectoryOfOwnDisks", "sieve", Peers::directory, 2, 3, 9, 0},
                      Sharing{"DirectoryOfNothing", "lru", Peers::directory, 0, 0},
                      Sharing{"DirectoryOfNodesWithoutWorkers", "lru", Peers::directory, 1, 3, 0, 1, 3, 2},
                      Sharing{"DirectoryOfOneNode", "lru", Peers::directory, 1, 8, 0, 1, 1},
                      Sharing{"HoardOfDisks", "hoard", Peers::plan, 0, 5, 0, 0}),
    name_of_sharing);
INSTANTIATE_TEST_SUITE_P(
    LongPhotographs, SharingNodes,
    ::testing::Values(Sharing{"Partition", "lru", Peers::partition, 1, 8, 0, 1, 3, 4, photographs},
                      Sharing{"Directory", "lru", Peers::directory, 2, 5, 0, 1, 3, 4, photographs},
                      Sharing{"Hoard", "hoard", Peers::plan, 0, 5, 4, 1, 3, 4, photographs}),
    name_of_sharing);

class NodesOfADirectory : public CacheNodes {
 protected:
  static Experiment with_directory(const char* policy, int copies, int kept) {
    Experiment experiment = reading(5, {"a", "b", "c"});
    experiment.data.cache = policy;
    experiment.data.peers = Peers::directory;
    experiment.data.copies = copies;
    experiment.data.cache_capacity = Bytes(kept * 785);
    experiment.placement.stores = {"d"};
    experiment.placement.directory = "b";
    return experiment;
  }
  /// Of all nodes.
  static std::int64_t sum(const std::vector<Journal>& journals, const char* from) {
    std::int64_t samples = 0;
    for (const Journal& journal : journals) samples += cache_sum(journal, from).samples;
    return samples;
  }
};

/// Where every node has room for whatever it may keep, each sample is read from the store once, whoever asks
/// for it, in whichever order messages arrive: a node that asks while another one reads the sample waits for
/// that. With owners it is not so: they read what they want themselves.
TEST_F(NodesOfADirectory, ReadEachSampleFromTheStoreOnce) {
  for (const char* policy : {"lru", "minio"}) {
    const Experiment experiment = with_directory(policy, 1, samples);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(seed);
      const auto journals = serve(experiment, seed, 20);
      std::set<SampleId> wanted;
      for (const Journal& journal : journals)
        for (const RequestRecord& request : journal.requests) wanted.insert(request.id);
      EXPECT_EQ(sum(journals, "store"), std::ssize(wanted));
      EXPECT_EQ(sum(journals, "peer-miss"), 0);
      EXPECT_EQ(sum(journals, "withdrawn"), 0);
      EXPECT_EQ(sum(journals, "published"), std::ssize(wanted)) << "nobody else keeps it";
      EXPECT_GT(sum(journals, "peer"), 0);
    }
  }
}

/// What a node has kept in all, minus what has left it, is what the directory was told.
TEST_F(NodesOfADirectory, TellWhatTheyKeepAndWhatLeavesThem) {
  const Job job(with_directory("lru", 2, 3), lab(), folder_.path().string());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto journals = serve(job.spec().experiment, seed);
    EXPECT_GT(sum(journals, "withdrawn"), 0);
    EXPECT_GT(sum(journals, "lookup"), 0);
    std::int64_t sent = 0;
    for (const Journal& journal : journals) {
      std::int64_t messages = 0;
      for (const CacheRecord& row : journal.caches)
        if (row.from == "update-messages") messages += row.samples;
      sent += messages;
      // At most one for a batch, one before each lookup, and those of repairs.
      EXPECT_LE(messages, std::ssize(journal.requests) + cache_sum(journal, "lookup-messages").samples +
                              cache_sum(journal, "repaired").samples);
    }
    EXPECT_GT(sent, 0);
    EXPECT_EQ(sum(journals, "lookup-messages") % 2, 0) << "each has an answer";
    for (std::size_t node = 0; node < 3; ++node) {
      const auto rank = static_cast<std::size_t>(job.roster().ranks_of(Roster::Role::cache_node)[node]);
      const auto policy = job.data().make_cache_policy(static_cast<int>(node), 3);
      for (const auto& record : journals.at(rank).decisions) {
        cache::Decisions decisions;
        cache::replay_event(*policy, record.event, decisions);
        EXPECT_EQ(record.decisions, cache::to_text(decisions)) << record.event;
      }
    }
  }
}

/// More samples than one request to another node may name.
TEST_F(CacheNodes, LargeReadsFromANodeAreSeveralRequests) {
  Experiment experiment = reading(2, {"a", "b"});
  experiment.workload.train_samples = 1000;
  experiment.workload.batch = 700;
  experiment.data.cache_capacity = Bytes(1000 * 785);
  experiment.data.peers = Peers::partition;
  const Job job(experiment, lab(), folder_.path().string());
  std::vector<Journal> journals(static_cast<std::size_t>(job.roster().size()));
  FakeWorld world(job.roster().size(), 1);
  std::atomic<bool> is_filled = false;
  world.run([&](Context& context) {
    if (context.rank() >= 2)
      return run_role(job, context, journals[static_cast<std::size_t>(context.rank())]);
    CacheClient client(context, job.data(), 2 + context.rank());
    // Of the even ones, which belong to the first node, it has those below 700.
    std::vector<SampleId> ids;
    if (context.rank() == 0)
      for (SampleId id = 0; id < 700; id += 2) ids.push_back(id);
    else
      for (SampleId id = 300; id < 1000; ++id) ids.push_back(id);
    while (context.rank() == 1 && !is_filled) std::this_thread::yield();
    client.request(ids);
    const auto expected = client.expected();
    EXPECT_TRUE(client.receive() == expected);
    is_filled = true;
    client.close();
  });
  EXPECT_EQ(cache_sum(journals[3], "peer").samples, 200);
  EXPECT_EQ(cache_sum(journals[3], "peer-miss").samples, 150);
  EXPECT_EQ(cache_sum(journals[3], "store").samples, 500);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
