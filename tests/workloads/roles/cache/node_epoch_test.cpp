// What a cache node knows of an epoch: the lists of all nodes, and the places of its workers' samples.
#include "workloads/roles/cache/node_epoch.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/temporary_folder.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Ids = std::vector<SampleId>;

class NodeEpochs : public ::testing::Test {
 protected:
  /// Twelve samples; workers 0 and 2 have the first node, worker 1 the second.
  NodeEpochs() { make_job("quiver", Peers::none); }
  void make_job(const std::string& cache, Peers peers) {
    platforms::Description platform;
    platform.file = "node_epoch_test";
    for (const char* name : {"a", "b"}) {
      platforms::Host host;
      host.name = name;
      host.device = platforms::find_device("v100");
      host.disks = {{"disk", BytesPerSecond(1e8), BytesPerSecond(1e8)}};
      platform.hosts.push_back(host);
    }
    Experiment experiment;
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "lenet";
    experiment.workload.dataset = "synthetic";
    experiment.workload.train_samples = 12;
    experiment.workload.batch = 2;
    experiment.sync.over = sync::Route::all_reduce;
    experiment.sync.collective = "ring";
    experiment.placement.workers = {"a", "b", "a"};
    experiment.placement.cache_nodes = {"a", "b"};
    experiment.data.source = DataSource::storage;
    experiment.data.sampling = "shuffled";
    experiment.data.cache = cache;
    experiment.data.peers = peers;
    experiment.data.cache_capacity = Bytes(4 * 785);
    experiment.stop.rounds = 1;
    job_ = std::make_unique<Job>(experiment, platform, folder_.path().string());
  }
  static Ids ids_of(std::span<const cache::Sample> samples) {
    Ids ids;
    for (const auto& sample : samples) ids.push_back(sample.id);
    return ids;
  }
  static Ids copy(std::span<const SampleId> ids) { return {ids.begin(), ids.end()}; }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Job> job_;
};

TEST_F(NodeEpochs, TellsTheListsOfAllNodes) {
  NodeEpoch epoch(job_->roster(), job_->data(), 1);
  EXPECT_LT(epoch.epoch(), 0);
  const Ids all = job_->data().lists().of(3, {}, {})->ids;
  std::vector<Ids> lists;
  epoch.begin(3, {}, [&](const cache::EpochBegins& event) {
    EXPECT_EQ(event.epoch, 3);
    EXPECT_TRUE(event.low.empty());
    lists.assign(event.lists.begin(), event.lists.end());
  });
  EXPECT_EQ(epoch.epoch(), 3);
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0], (Ids{all[0], all[2], all[3], all[5], all[6], all[8], all[9], all[11]}));
  EXPECT_EQ(lists[1], (Ids{all[1], all[4], all[7], all[10]}));
}

TEST_F(NodeEpochs, SwappedSamplesChangePlaces) {
  NodeEpoch epoch(job_->roster(), job_->data(), 0);
  epoch.begin(0, {}, [](const cache::EpochBegins&) {});
  const Ids all = job_->data().lists().of(0, {}, {})->ids;
  const Ids first = {all[0], all[3], all[6], all[9]}, other = {all[2], all[5], all[8], all[11]};
  cache::Want want = epoch.want(0, 0, Ids{first[0], first[1]});
  EXPECT_EQ(ids_of(want.now), (Ids{first[0], first[1]}));
  EXPECT_EQ(copy(want.ahead), (Ids{first[2], first[3]}));
  // One changes places with the last sample of this worker, one with the first sample of the other.
  epoch.note_served(std::vector<cache::Serve>{{first[0], first[3], cache::tier(0), true},
                                              {first[1], other[0], cache::tier(0), true}});
  want = epoch.want(1, 0, Ids{other[0], other[1]});
  EXPECT_EQ(ids_of(want.now), (Ids{first[1], other[1]}));
  EXPECT_EQ(copy(want.ahead), (Ids{other[2], other[3]}));
  want = epoch.want(0, 2, Ids{first[2], first[3]});
  EXPECT_EQ(ids_of(want.now), (Ids{first[2], first[0]}));
  // Within a batch, nothing is left to be changed.
  epoch.note_served(std::vector<cache::Serve>{{first[2], first[0], cache::tier(0), true},
                                              {first[0], first[2], cache::tier(0), true}});
  EXPECT_EQ(ids_of(epoch.want(1, 2, Ids{other[2], other[3]}).now), (Ids{other[2], other[3]}));
  // The next epoch is in the order of its list.
  epoch.begin(1, {}, [](const cache::EpochBegins&) {});
  const Ids next = job_->data().lists().of(1, {}, {})->ids;
  EXPECT_EQ(ids_of(epoch.want(0, 0, Ids{next[0], next[3]}).now), (Ids{next[0], next[3]}));
}

/// A node that comes back begins with the requests that its workers make next.
TEST_F(NodeEpochs, MayBeginInTheMiddle) {
  make_job("foresight", Peers::plan);
  NodeEpoch epoch(job_->roster(), job_->data(), 0);
  std::int64_t taken = -1;
  const auto on_begin = [&](const cache::EpochBegins& event) { taken = event.taken; };
  epoch.begin(0, {}, on_begin);
  EXPECT_EQ(taken, 0);
  constexpr std::int64_t position = 2;
  epoch.begin(1, {}, on_begin, {}, nullptr, position);
  EXPECT_EQ(taken, 2 * position) << "of two workers";
}

/// The job is resumed in an epoch: what came is not wanted again, and what gave up its place for it is wanted
/// in the place of that.
TEST_F(NodeEpochs, ContinueWithWhatHasNotCome) {
  NodeEpoch epoch(job_->roster(), job_->data(), 0);
  const Ids all = job_->data().lists().of(0, {}, {})->ids;
  const Ids first = {all[0], all[3], all[6], all[9]}, other = {all[2], all[5], all[8], all[11]};
  // first[1] and other[0] were put off for samples that came early.
  const std::vector<Ids> given = {{first[0], first[3]}, {other[2], other[1]}};
  std::vector<Ids> lists;
  epoch.begin(
      0, {}, [&](const cache::EpochBegins& event) { lists.assign(event.lists.begin(), event.lists.end()); },
      given);
  EXPECT_EQ(lists[0], (Ids{first[2], first[1], other[0], other[3]}));
  EXPECT_EQ(lists[1], (Ids{all[1], all[4], all[7], all[10]}));
  cache::Want want = epoch.want(0, 2, Ids{first[2], first[3]});
  EXPECT_EQ(ids_of(want.now), (Ids{first[2], first[1]}));
  // One that changes places takes none of those that came before.
  epoch.note_served(std::vector<cache::Serve>{{first[2], other[3], cache::tier(0), true},
                                              {first[1], first[1], cache::store(), false}});
  want = epoch.want(1, 2, Ids{other[2], other[3]});
  EXPECT_EQ(ids_of(want.now), (Ids{other[0], first[2]}));
  // A later epoch begins as always.
  epoch.begin(1, {}, [](const cache::EpochBegins&) {});
  const Ids next = job_->data().lists().of(1, {}, {})->ids;
  EXPECT_EQ(ids_of(epoch.want(0, 0, Ids{next[0], next[3]}).now), (Ids{next[0], next[3]}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
