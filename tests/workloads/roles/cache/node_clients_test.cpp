// Which clients of a cache node may still ask, and when an epoch of their job begins.
#include "workloads/roles/cache/node_clients.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/roles/cache/node_jobs.hpp"

namespace tandem {
namespace TANDEM_FILE {

class ClientsOfANode : public ::testing::Test {
 protected:
  static constexpr int workers = 3;
  ClientsOfANode() {
    for (int worker = 0; worker < workers; ++worker) clients_.add_worker(worker, own(), worker, worker < 2);
    clients_.add_peer(9, own(), true);
  }
  /// The policy plans with epochs.
  static Experiment planning() {
    Experiment experiment = testing::cached_experiment("synthetic", 40, 6);
    experiment.placement.workers.assign(workers, "a");
    experiment.placement.cache_nodes = {"b"};
    experiment.data.sampling = "shuffled";
    experiment.data.cache = "quiver";
    experiment.data.cache_capacity = Bytes(4 * 785);
    return experiment;
  }
  NodeJob& own() { return jobs_.own(); }
  void hold(std::size_t client, std::int64_t epoch, std::int64_t position) {
    clients_[client].request = {.samples = 1, .epoch = epoch, .position = position};
    clients_[client].is_held = true;
  }
  void end(std::size_t client) {
    clients_[client].has_ended = true;
    clients_.end(clients_[client]);
  }

  testing::TemporaryFolder folder_;
  Job job_{planning(), testing::hosts_with_disks("node_clients_test", {"a", "b"}), folder_.path().string()};
  Journal journal_;
  ServedJob served_{.job = &job_, .journal = &journal_};
  NodeJobs jobs_{{&served_, 1}, 0, {}};
  NodeClients clients_;
};

TEST_F(ClientsOfANode, AnEpochBeginsWhenNoWorkerMayAskForTheOneBefore) {
  EXPECT_FALSE(clients_.due_epoch(own()));
  hold(0, 4, 12);
  EXPECT_FALSE(clients_.due_epoch(own())) << "the other one may still ask for epoch 3";
  hold(1, 4, 6);
  ASSERT_EQ(clients_.due_epoch(own()), 4) << "nobody is in the third slot";
  EXPECT_EQ(clients_.first_position(own(), 4), 6);
  EXPECT_EQ(clients_.release(own(), 4), (std::vector<std::size_t>{0, 1}));
  EXPECT_FALSE(clients_.due_epoch(own()));
}

TEST_F(ClientsOfANode, OneThatWaitsForTheDirectoryIsStillInItsEpoch) {
  own().epoch->begin(4, {}, [](const cache::EpochBegins&) {});
  hold(0, 4, 6);
  hold(1, 5, 0);
  EXPECT_FALSE(clients_.due_epoch(own()));
  hold(0, 5, 0);
  EXPECT_EQ(clients_.due_epoch(own()), 5);
}

TEST_F(ClientsOfANode, TheOldestEpochComesFirst) {
  hold(0, 5, 0);
  hold(1, 4, 6);
  EXPECT_EQ(clients_.due_epoch(own()), 4);
  EXPECT_EQ(clients_.release(own(), 4), (std::vector<std::size_t>{1}));
  EXPECT_FALSE(clients_.due_epoch(own()));
  end(1);
  EXPECT_EQ(clients_.due_epoch(own()), 5) << "one that has ended delays nobody";
}

TEST_F(ClientsOfANode, OneThatJoinsAsksLater) {
  clients_.begin(clients_[2], 1);
  hold(0, 4, 0);
  hold(1, 4, 0);
  EXPECT_EQ(clients_.due_epoch(own()), 4);
  clients_[2].is_joining = clients_[2].has_ended = false;
  EXPECT_FALSE(clients_.due_epoch(own())) << "it has joined";
}

TEST_F(ClientsOfANode, AreOpenUntilAllHaveEnded) {
  EXPECT_EQ(own().open, 2U);
  end(0);
  end(1);
  EXPECT_FALSE(clients_.have_open_workers());
  EXPECT_TRUE(clients_.are_open()) << "the other node";
  clients_.begin(clients_[2], 1);
  EXPECT_TRUE(clients_.have_open_workers());
  EXPECT_EQ(own().open, 1U);
  clients_.end(clients_[2]);
  end(3);
  EXPECT_FALSE(clients_.are_open());
  EXPECT_EQ(own().open, 0U);
}

/// What was delivered is recorded by epoch when all have left it.
TEST_F(ClientsOfANode, OnesThatAreGoneOrNeverCameKeepNoEpochOpen) {
  const std::vector<SampleId> ids = {1, 2};
  own().deliveries.note(0, 0, ids);
  own().deliveries.note(1, 0, ids);
  own().deliveries.note(0, 1, ids);
  EXPECT_TRUE(journal_.deliveries.empty());
  end(1);
  EXPECT_EQ(journal_.deliveries.size(), 1U);
}

TEST_F(ClientsOfANode, AreFoundByTheirWorkers) {
  EXPECT_EQ(clients_.of_worker(1), &clients_[1]);
  EXPECT_EQ(clients_.of_worker(7), nullptr);
  EXPECT_EQ(&clients_.peer(0), &clients_[3]);
  EXPECT_EQ(clients_.of(own()).size(), 3U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
