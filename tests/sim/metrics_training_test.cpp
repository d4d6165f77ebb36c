// Metrics of simulated training with known results: staleness, local steps, time shares, and the use of
// samples.
#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <utility>

#include "tests/sim/training.hpp"
#include "tests/support/server_log.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/records/metrics.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;
using testing::Training;

class Metrics : public Training {
 protected:
  /// Trains workers with the given step times; apart from these, only messages take time.
  Journal train_paced(const std::string& algorithm, const std::vector<double>& step_s, std::int64_t rounds,
                      const std::map<std::string, OptionValue>& options = {}, int shards = 1,
                      bool operations = false) {
    Experiment experiment = small_experiment(static_cast<int>(step_s.size()));
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    experiment.stop.rounds = rounds;
    for (int shard = 1; shard < shards; ++shard)
      experiment.placement.servers.push_back("host-" + std::to_string(9 - shard));
    price_ = [step_s](Rank rank, const Work& work) {
      const auto worker = static_cast<std::size_t>(rank);
      const bool counts = work.kind == Work::Kind::forward && worker < step_s.size();
      return Seconds(counts ? step_s[worker] : 0.0);
    };
    return train(std::move(experiment), operations);
  }
  RunInfo info() const { return describe_run(*job_, "simulated"); }
  /// Bytes that all workers sent and received. The servers' sums are the same.
  struct Traffic {
    std::int64_t sent = 0, received = 0;
    bool operator==(const Traffic&) const = default;
  };
  Traffic traffic_of(const Journal& journal) const {
    Traffic of_workers, of_servers;
    for (const auto& step : journal.steps) {
      of_workers.sent += step.bytes_sent;
      of_workers.received += step.bytes_received;
    }
    const auto servers = server_figures(info(), journal, makespan_);
    EXPECT_EQ(servers.size(), job_->roster().servers().size());
    for (const auto& [rank, figures] : servers) {
      of_servers.received += figures.bytes_sent.value_or(0);
      of_servers.sent += figures.bytes_received.value_or(0);
    }
    EXPECT_EQ(of_servers, of_workers);
    return of_workers;
  }
};

using Counts = std::map<std::int64_t, std::int64_t>;

TEST_F(Metrics, BspAppliesNothingStale) {
  const Journal journal = train_paced("bsp", {1, 2, 4}, 20);
  EXPECT_EQ(merged(staleness(journal)).counts(), (Counts{{0, 60}}));
  EXPECT_EQ(merged(local_steps(journal)).counts(), (Counts{{1, 60}}));
}

class ManySteps : public Metrics, public ::testing::WithParamInterface<std::vector<double>> {};

/// On average, each of the other workers makes one update during a step, whatever their speeds.
TEST_P(ManySteps, StalenessOfAspIsTheNumberOfOtherWorkers) {
  const Journal journal = train_paced("asp", GetParam(), 400);
  const auto others = static_cast<double>(GetParam().size() - 1);
  EXPECT_NEAR(merged(staleness(journal)).mean(), others, 0.01 * others);
}
INSTANTIATE_TEST_SUITE_P(Paces, ManySteps, ::testing::Values(std::vector<double>{1, 2.3, 4.1}));
INSTANTIATE_TEST_SUITE_P(LongPaces, ManySteps,
                         ::testing::Values(std::vector<double>{1, 1, 1, 1},
                                           std::vector<double>{1, 1, 1, 1, 9.7, 1.3}));

/// The slow worker's step is slightly longer than four of the fast one, so that the latency of answers does
/// not matter.
TEST_F(Metrics, EsyncFillsTheSlowestStepWithLocalSteps) {
  const auto ranks = local_steps(train_paced("esync", {4.1, 1}, 10));
  EXPECT_EQ(ranks.at(0).counts(), (Counts{{1, 10}}));
  EXPECT_EQ(ranks.at(1).counts(), (Counts{{1, 1}, {4, 9}})) << "the first round measures the durations";
}

TEST_F(Metrics, SharesFollowFromTheStepTimes) {
  const Journal journal = train_paced("bsp", {3, 1}, 50, {}, 1, true);
  const auto shares = time_shares(info(), journal, makespan_);
  EXPECT_NEAR(shares.at(0).computing, 1.0, 0.01);
  EXPECT_NEAR(shares.at(1).computing, 1.0 / 3, 0.01);
  EXPECT_NEAR(shares.at(1).exchange, 2.0 / 3, 0.01);
  const auto exchanges = exchange_shares(info(), journal, makespan_);
  EXPECT_NEAR(exchanges.at(1).waiting, 2.0 / 3, 0.01);
  EXPECT_GT(exchanges.at(1).communicating, 0);
  EXPECT_LT(exchanges.at(1).communicating, 0.01);
  for (const Rank rank : {0, 1})
    EXPECT_NEAR(exchanges.at(rank).communicating + exchanges.at(rank).waiting, shares.at(rank).exchange,
                1e-9);
}

TEST_F(Metrics, ShardsReceiveInTotalWhatWorkersSend) {
  const Traffic traffic = traffic_of(train_paced("asp", {1, 2, 2.5}, 10, {}, 3, true));
  EXPECT_GT(traffic.sent, 0);
  EXPECT_EQ(traffic.received, traffic.sent) << "each push is answered with the model";
}

/// An algorithm with options that make it drop or delay pushes.
struct Strict {
  const char* algorithm;
  std::map<std::string, OptionValue> options;
};
void PrintTo(const Strict& value, std::ostream* out) { *out << value.algorithm; }

class RepliesWithoutModel : public Metrics, public ::testing::WithParamInterface<Strict> {};

/// One worker pushes nine gradients, three for each update. Two of three replies bring no model.
TEST_P(RepliesWithoutModel, BringItOnlyWhereItHasChanged) {
  const Traffic traffic = traffic_of(train_paced(GetParam().algorithm, {1}, 9, GetParam().options, 3, true));
  EXPECT_EQ(traffic.sent, 9 * job_->model().bytes().count());
  EXPECT_EQ(traffic.received, 3 * job_->model().bytes().count());
}
INSTANTIATE_TEST_SUITE_P(Algorithms, RepliesWithoutModel,
                         ::testing::Values(Strict{"k-batch-sync", {{"k", std::int64_t{3}}}},
                                           Strict{"rennala", {{"b", std::int64_t{3}}}}));

class EverySample : public Metrics, public ::testing::WithParamInterface<Strict> {
 protected:
  /// Counts from the pushes in the first server's log.
  SampleCounts counts_of_the_log(const Journal& journal, std::int64_t& applied_pushes) const {
    const Rank server = job_->roster().servers().front();
    SampleCounts counts{.applied = 0, .pending = 0};
    std::map<int, int> last_push;
    std::int64_t held_pushes = 0;
    for (const auto& record : journal.decisions) {
      if (record.rank != server || record.side != "server") continue;
      const auto event = sync::parse_server_event(record.event);
      if (const auto* push = std::get_if<sync::Push>(&event)) last_push[push->worker] = push->samples;
      for (const auto& words : testing::decisions_of({record.event, record.decisions})) {
        const auto samples = [&] { return last_push.at(std::stoi(words.at(1))); };
        if (words.front() == "accept") {
          ++held_pushes;
          *counts.pending += samples();
        } else if (words.front() == "discard") {
          counts.dropped += samples();
        } else if (words.front() == "apply") {
          applied_pushes += std::exchange(held_pushes, 0);
          *counts.applied += std::exchange(*counts.pending, 0);
        }
      }
    }
    counts.processed = *counts.applied + *counts.pending + counts.dropped;
    return counts;
  }
};

TEST_P(EverySample, IsAppliedDroppedOrPending) {
  const Journal journal = train_paced(GetParam().algorithm, {1, 1.3, 2.6, 4.1}, 15, GetParam().options, 2);
  std::int64_t applied_pushes = 0;
  const SampleCounts expected = counts_of_the_log(journal, applied_pushes);
  const SampleCounts found = sample_counts(info(), journal);
  EXPECT_EQ(found.processed, expected.processed);
  EXPECT_EQ(found.applied, expected.applied);
  EXPECT_EQ(found.dropped, expected.dropped);
  EXPECT_EQ(found.pending, expected.pending);
  EXPECT_EQ(merged(staleness(journal)).total(), applied_pushes);
  EXPECT_GT(applied_pushes, 0);
}
INSTANTIATE_TEST_SUITE_P(Algorithms, EverySample,
                         ::testing::Values(Strict{"asp", {}}, Strict{"local-sgd", {{"h", std::int64_t{3}}}},
                                           Strict{"k-sync", {{"k", std::int64_t{2}}}},
                                           Strict{"k-batch-sync", {{"k", std::int64_t{7}}}},
                                           Strict{"ringmaster", {{"r", std::int64_t{1}}}}));
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, EverySample,
                         ::testing::Values(Strict{"bsp", {}}, Strict{"esync", {}},
                                           Strict{"rennala", {{"b", std::int64_t{3}}}},
                                           Strict{"ssp", {{"staleness", std::int64_t{1}}}},
                                           Strict{"easgd", {{"tau", std::int64_t{2}}}}));

TEST_F(Metrics, RingmasterAppliesNoneThatIsTooStale) {
  const Journal journal = train_paced("ringmaster", {1, 1.3, 2.6, 7.1}, 30, {{"r", std::int64_t{3}}});
  EXPECT_LT(merged(staleness(journal)).max(), 3);
  EXPECT_GT(journal.dropped_samples, 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
