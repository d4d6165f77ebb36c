// Cache nodes and stores that several jobs share: every client gets the records that it asked for, and each
// job has its own records, in whichever order requests arrive.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/cache/text.hpp"
#include "tests/support/cache_client.hpp"
#include "tests/support/cache_counts.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/fake_context.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/cache_policy.hpp"
#include "workloads/job/plan/job_context.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::cache_sum;
using testing::CacheClient;
using testing::FakeWorld;

constexpr int samples = 40;
constexpr int epochs = 3;

struct Case {
  const char* name;
  const char* policy;
  int capacity;  ///< samples
  int stores;    ///< 0: the disk of the node
};

class SharedNodes : public ::testing::Test {
 protected:
  static platforms::Description lab() {
    return testing::hosts_with_disks("shared_node_test", {"a", "b", "c", "d"});
  }
  static Experiment reading(const Case& of, int workers, int batch) {
    Experiment experiment = testing::cached_experiment("synthetic", samples, batch);
    experiment.placement.workers.assign(static_cast<std::size_t>(workers), "d");
    experiment.placement.cache_nodes = {"a"};
    const std::vector<std::string> hosts = {"b", "c"};
    experiment.placement.stores.assign(hosts.begin(), hosts.begin() + of.stores);
    experiment.data.shared = true;
    experiment.data.cache = of.policy;
    experiment.data.cache_capacity = Bytes(of.capacity * 785);
    return experiment;
  }
  /// Jobs of 2 and of 1 workers, with batches of 6 and 9. Each worker asks for every sample in each epoch.
  void serve(const Case& of, std::uint64_t seed) {
    jobs_.clear();
    journals_.clear();
    jobs_.emplace_back(reading(of, 2, 6), lab(), folder_.path().string());
    jobs_.emplace_back(reading(of, 1, 9), lab(), folder_.path().string());
    const RankedJob ranked[] = {{&jobs_[0].roster(), Seconds(1), true},
                                {&jobs_[1].roster(), Seconds(0), true}};
    ranks_ = std::make_unique<JobRanks>(ranked);
    for (const Job& job : jobs_) {
      journals_.emplace_back(static_cast<std::size_t>(job.roster().size()));
      for (Journal& journal : journals_.back()) journal.keep_decisions = journal.keep_requests = true;
    }
    FakeWorld world(ranks_->size(), seed);
    world.run([&](Context& inner) { play(inner, seed); });
  }
  void play(Context& inner, std::uint64_t seed) {
    const auto places = ranks_->places(inner.rank());
    const Job& job = jobs_[places.front().job];
    JobContext context(
        inner,
        {.ranks = ranks_->addresses(inner.rank()), .rank = places.front().rank, .size = job.roster().size()});
    const auto role = job.roster().assignment(context.rank()).role;
    if (role == Roster::Role::worker) {
      CacheClient client(context, job.data(), job.roster().ranks_of(Roster::Role::cache_node).front());
      const auto name = static_cast<std::uint64_t>(inner.rank());
      return ask(client, Rng::stream(seed, "client", name), job.data().batch());
    }
    std::vector<ServedJob> served;
    Rank first = 0;
    for (const auto& place : places) {
      served.push_back(
          {&jobs_[place.job], &journals_[place.job][static_cast<std::size_t>(place.rank)], first});
      first += jobs_[place.job].roster().size();
    }
    run_shared_role(served, context, true);
  }
  static void ask(CacheClient& client, Rng rng, int batch) {
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      std::vector<SampleId> list(samples);
      for (SampleId id = 0; id < samples; ++id) list[static_cast<std::size_t>(id)] = id;
      rng.shuffle(list);
      for (std::size_t begin = 0; begin < list.size() || client.in_flight() > 0;) {
        if (begin < list.size() &&
            (client.in_flight() == 0 || (client.in_flight() < 3 && rng.below(2) == 0))) {
          const std::size_t end = std::min(list.size(), begin + static_cast<std::size_t>(batch));
          client.request({list.begin() + static_cast<std::ptrdiff_t>(begin),
                          list.begin() + static_cast<std::ptrdiff_t>(end)},
                         epoch);
          begin = end;
        } else {
          const auto expected = client.expected();
          EXPECT_TRUE(client.receive() == expected);
        }
      }
    }
    client.close();
  }
  const Journal& of_node(std::size_t job) const {
    const auto node = jobs_[job].roster().ranks_of(Roster::Role::cache_node).front();
    return journals_[job][static_cast<std::size_t>(node)];
  }
  std::int64_t sum(const char* from) const {
    return cache_sum(of_node(0), from).samples + cache_sum(of_node(1), from).samples;
  }

  testing::TemporaryFolder folder_;
  std::vector<Job> jobs_;
  std::vector<std::vector<Journal>> journals_;  ///< by job and rank
  std::unique_ptr<JobRanks> ranks_;
};

class SharedCachesOf : public SharedNodes, public ::testing::WithParamInterface<Case> {};

TEST_P(SharedCachesOf, ServeEveryJobAndRecordItApart) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    serve(GetParam(), seed);
    for (const std::size_t job : {0U, 1U}) {
      const Journal& journal = of_node(job);
      const auto workers = static_cast<std::int64_t>(jobs_[job].roster().workers().size());
      const Rank node = jobs_[job].roster().ranks_of(Roster::Role::cache_node).front();
      EXPECT_EQ(std::ssize(journal.requests), workers * epochs * samples);
      for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        EXPECT_EQ(cache_sum(journal, "", epoch).samples, workers * samples) << epoch;
      ASSERT_EQ(journal.deliveries.size(), static_cast<std::size_t>(epochs));
      for (const DeliveryRecord& record : journal.deliveries) {
        EXPECT_EQ(record.rank, node);
        EXPECT_EQ(record.samples, workers * samples);
      }
      for (const CacheRecord& row : journal.caches) EXPECT_EQ(row.rank, node);
      // Each has its own messages, by its own numbers.
      std::int64_t requests = 0;
      for (const OperationRecord& operation : journal.operations) {
        EXPECT_EQ(operation.rank, node);
        if (operation.kind != "receive" || operation.channel != "requests") continue;
        EXPECT_LT(operation.peer, workers);
        requests += 1;
      }
      const std::int64_t batches = (samples + jobs_[job].data().batch() - 1) / jobs_[job].data().batch();
      EXPECT_EQ(requests, workers * (epochs * batches + 1));
    }
  }
}

/// The job to which the node belongs has the events of all.
TEST_P(SharedCachesOf, RecordedDecisionsReplay) {
  serve(GetParam(), 3);
  EXPECT_TRUE(of_node(0).decisions.empty());
  const auto& data = jobs_[1].data();
  const auto policy = make_cache_policy(jobs_[1].chosen().cache, jobs_[1].spec().experiment.data,
                                        jobs_[1].spec().experiment.seed, data.manifest(), {.jobs = 2});
  ASSERT_FALSE(of_node(1).decisions.empty());
  for (const DecisionRecord& record : of_node(1).decisions) {
    cache::Decisions decisions;
    cache::replay_event(*policy, record.event, decisions);
    EXPECT_EQ(record.decisions, cache::to_text(decisions)) << record.event;
  }
}

std::string name_of_case(const ::testing::TestParamInfo<Case>& each) { return each.param.name; }
INSTANTIATE_TEST_SUITE_P(Policies, SharedCachesOf,
                         ::testing::Values(Case{"lru", "lru", 12, 0}, Case{"minio", "minio", 10, 1},
                                           Case{"all", "minio", 40, 2}),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(LongPolicies, SharedCachesOf,
                         ::testing::Values(Case{"lru_from_stores", "lru", 12, 2},
                                           Case{"nothing", "lru", 0, 1}, Case{"arc", "arc", 15, 0}),
                         name_of_case);

TEST_F(SharedNodes, WithRoomForAllReadEachSampleOnceForAllJobs) {
  for (const char* policy : {"lru", "minio"}) {
    serve({"all", policy, samples, 1}, 5);
    EXPECT_EQ(sum("store"), samples) << policy;
    EXPECT_EQ(sum("tier0"), (3 * epochs - 1) * samples) << policy;
  }
}

TEST_F(SharedNodes, OfMinioHitTheirCapacityInEachLaterEpochOfAWorker) {
  serve({"part", "minio", 10, 1}, 5);
  // Once each worker has been through the set, the cache is full, and stays as it is.
  for (const std::int64_t epoch : {1, 2}) {
    EXPECT_EQ(cache_sum(of_node(0), "tier0", epoch).samples, 2 * 10);
    EXPECT_EQ(cache_sum(of_node(1), "tier0", epoch).samples, 10);
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
