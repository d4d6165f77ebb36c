// Cache nodes that ask each other give every client the records that it asked for, in whichever order
// messages arrive and reads end.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

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
  // A directory knows who has a sample, unless that changes in the moment.
  if (GetParam().peers != Peers::directory) {
    EXPECT_GT(in_vain, 0);
  }
  EXPECT_EQ(from_peers > 0, GetParam().samples > 0);
}

std::string name_of_sharing(const ::testing::TestParamInfo<Sharing>& each) { return each.param.name; }
/// More in service_worlds_test.cpp.
INSTANTIATE_TEST_SUITE_P(Nodes, SharingNodes,
                         ::testing::Values(Sharing{"RingOfTwo", "lru", Peers::ring, 1, 10, 0, 0, 2},
                                           Sharing{"Disks", "lru", Peers::partition, 1, 2, 12},
                                           Sharing{"NodesWithoutWorkers", "minio", Peers::ring, 0, 20, 0, 1,
                                                   3, 2},
                                           Sharing{"DirectoryOfTwoCopies", "random", Peers::directory, 2, 5},
                                           Sharing{"Hoard", "hoard", Peers::plan}),
                         name_of_sharing);
INSTANTIATE_TEST_SUITE_P(
    LongPhotographs, SharingNodes,
    ::testing::Values(Sharing{"Partition", "lru", Peers::partition, 1, 8, 0, 1, 3, 4, photographs},
                      Sharing{"Directory", "lru", Peers::directory, 2, 5, 0, 1, 3, 4, photographs},
                      Sharing{"Hoard", "hoard", Peers::plan, 0, 5, 4, 1, 3, 4, photographs}),
    name_of_sharing);

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
