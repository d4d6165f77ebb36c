// Whole jobs against closed forms from outside: queueing theory, Markov chains and the recurrences of the
// papers. Roles and policies are the same in both worlds, so a rule that is wrong in both is seen only here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/fair_service.hpp"
#include "workloads/records/metrics.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::pushes_by_worker;
using testing::small_experiment;
using testing::TemporaryPlatform;
using testing::Training;

/// Modelled mathematics; messages take no time that counts, unless a link is slow.
class Fairness : public Training {
 protected:
  Fairness() { platform_ = star({}); }

  /// A fast star on which the links of some hosts have these bandwidths, in B/s.
  static std::string star(const std::map<int, double>& slow) {
    std::string body = TemporaryPlatform::star(10, 1e12, 1e-9);
    for (const auto& [host, bandwidth] : slow) {
      const std::string link = "<link id='l" + std::to_string(host) + "' bandwidth='";
      const auto begin = body.find(link) + link.size();
      body.replace(begin, body.find("Bps", begin) - begin, std::to_string(bandwidth));
    }
    return body;
  }

  static Experiment job(const std::string& algorithm, int workers, std::int64_t rounds,
                        const std::map<std::string, OptionValue>& options = {}) {
    Experiment experiment = small_experiment(workers);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.batch = 16;
    experiment.workload.bucket_bytes = Bytes(100'000'000);
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    experiment.stop.rounds = rounds;
    return experiment;
  }

  /// A worker's step and the server's work on a push take the times that these give.
  void let_work_take(int workers, std::function<double(int worker)> step_s, std::function<double()> push_s) {
    price_ = [=](Rank rank, const Work& work) {
      if (rank < workers) return Seconds(work.kind == Work::Kind::forward ? step_s(rank) : 0.0);
      return Seconds(work.kind == Work::Kind::update ? push_s() : 0.0);
    };
  }
  static double nothing() { return 0.0; }
  static double exponential(Rng& rng, double mean) { return -mean * std::log(1.0 - rng.uniform()); }

  /// Times between updates, from the server's log.
  static std::vector<double> intervals_of_updates(const Journal& journal) {
    std::vector<double> times;
    for (const auto& decision : journal.decisions) {
      if (decision.side != "server" || decision.decisions.find("apply") == std::string::npos) continue;
      const sync::ServerEvent event = sync::parse_server_event(decision.event);
      if (const auto* push = std::get_if<sync::Push>(&event)) times.push_back(push->now.count());
    }
    std::vector<double> intervals(times.size());
    std::adjacent_difference(times.begin(), times.end(), intervals.begin());
    intervals.erase(intervals.begin());
    return intervals;
  }

  /// The mean of independent intervals, within 4.5 of its standard errors.
  static void expect_mean(const std::vector<double>& intervals, double expected) {
    const auto count = static_cast<double>(intervals.size());
    const double mean = std::accumulate(intervals.begin(), intervals.end(), 0.0) / count;
    double square = 0.0;
    for (const double one : intervals) square += (one - mean) * (one - mean) / count;
    ASSERT_GT(count, 300.0);
    EXPECT_NEAR(mean, expected, 4.5 * std::sqrt(square / count));
    EXPECT_LT(4.5 * std::sqrt(square / count), 0.15 * expected) << "a weak test";
  }

  /// Mean duration of a worker's steps without the first.
  static double mean_step(const Journal& journal, Rank worker) {
    double sum = 0.0, count = 0.0;
    for (const auto& step : journal.steps) {
      if (step.rank != worker || step.step == 0) continue;
      sum += step.duration().count();
      ++count;
    }
    return sum / count;
  }
};

// ---- A server and its queue ----

/// The machine repairman (M/M/1//N): N workers that compute for an exponential time Z, then queue at a server
/// with exponential service S. Throughput = (1 - p0) / S, 1 / p0 = sum of N! / (N - k)! (S / Z)^k.
TEST_F(Fairness, AspIsTheMachineRepairman) {
  constexpr int workers = 4;
  constexpr double step_s = 1.0, push_s = 0.5;
  Rng rng(1);
  let_work_take(
      workers, [&](int) { return exponential(rng, step_s); }, [&] { return exponential(rng, push_s); });
  const Journal journal = train(job("asp", workers, 1500));
  double states = 0.0, term = 1.0;
  for (int k = 0; k <= workers; ++k, term *= (workers - k + 1) * push_s / step_s) states += term;
  const double throughput = (1.0 - 1.0 / states) / push_s;
  const std::vector<int> pushes = pushes_by_worker(journal, workers);
  const double all = std::accumulate(pushes.begin(), pushes.end(), 0.0);
  EXPECT_NEAR(all / makespan_.count() / throughput, 1.0, 0.04);
  for (const int of_one : pushes) EXPECT_NEAR(of_one / all, 1.0 / workers, 0.02);
}

/// Whose steps are shorter than a cycle of the queue: first in, first out gives each the same share, and the
/// server's time is the only limit. On average, a push is applied after one of each other worker. Until the
/// slowest worker has pushed first, the others push more often: the server serves at most step / service
/// pushes by then.
TEST_F(Fairness, UnequalWorkersShareASaturatedServerEqually) {
  const std::vector<double> step_s = {3.7, 0.1, 1.9, 0.5, 1.2, 2.8};
  const auto workers = static_cast<int>(step_s.size());
  let_work_take(
      workers, [&](int worker) { return step_s[static_cast<std::size_t>(worker)]; }, [] { return 1.0; });
  const Journal journal = train(job("asp", workers, 50));
  const std::vector<int> pushes = pushes_by_worker(journal, workers);
  const auto [fewest, most] = std::ranges::minmax(pushes);
  const int before_slowest = static_cast<int>(std::ranges::max(step_s));
  EXPECT_LE(most - fewest, 1 + before_slowest) << ::testing::PrintToString(pushes);
  EXPECT_NEAR(makespan_.count(), std::accumulate(pushes.begin(), pushes.end(), 0.0), 0.2)
      << "from the first push on, the server never rests";
  const Distribution stale = merged(staleness(journal));
  EXPECT_LE(stale.max(), workers - 1 + before_slowest);
  EXPECT_NEAR(stale.mean(), workers - 1, 0.1);
}

/// Its own link delays a worker, and nobody else: a server takes what arrives and waits for no one.
TEST_F(Fairness, AWorkerOnASlowLinkDelaysNoOther) {
  platform_ = star({{1, 1e8}, {2, 1e8}, {3, 2e6}});
  constexpr double step_s = 0.1;
  let_work_take(
      3, [](int) { return step_s; }, nothing);
  const Journal journal = train(job("asp", 3, 40));
  const auto model = static_cast<double>(job_->model().bytes().count());
  EXPECT_NEAR(mean_step(journal, 0) / (step_s + 2 * model / 1e8), 1.0, 0.02);
  EXPECT_NEAR(mean_step(journal, 1) / (step_s + 2 * model / 1e8), 1.0, 0.02);
  EXPECT_NEAR(mean_step(journal, 2) / (step_s + 2 * model / 2e6), 1.0, 0.02);
}

// ---- Partial rounds: exponential steps make the fates of workers a Markov chain ----

/// Mean time until K of `fresh` + `stale` computing workers, each at rate 1, have delivered fresh gradients,
/// where `arrived` wait already. A stale one is dropped, and its worker starts on the current model.
double k_sync_round(int k, int fresh, int stale, int arrived) {
  if (arrived == k) return 0.0;
  const double rate = fresh + stale;
  double time = 1.0 / rate;
  if (fresh > 0) time += fresh / rate * k_sync_round(k, fresh - 1, stale, arrived + 1);
  if (stale > 0) time += stale / rate * k_sync_round(k, fresh + 1, stale - 1, arrived);
  return time;
}

/// The same where a worker that has delivered computes another gradient on the same model.
double k_batch_sync_round(int k, int fresh, int stale, int arrived) {
  if (arrived == k) return 0.0;
  const double rate = fresh + stale;
  double time = 1.0 / rate + fresh / rate * k_batch_sync_round(k, fresh, stale, arrived + 1);
  if (stale > 0) time += stale / rate * k_batch_sync_round(k, fresh + 1, stale - 1, arrived);
  return time;
}

struct PartialRound {
  std::string algorithm;
  int workers;
  int k;
};
void PrintTo(const PartialRound& value, std::ostream* out) {
  *out << value.algorithm << " of " << value.k << " of " << value.workers;
}

class PartialRounds : public Fairness, public ::testing::WithParamInterface<PartialRound> {};

TEST_P(PartialRounds, LastAsLongAsTheirMarkovChainSays) {
  const auto& [algorithm, workers, k] = GetParam();
  Rng rng(2);
  let_work_take(
      workers, [&](int) { return exponential(rng, 1.0); }, nothing);
  const std::string option = algorithm == "rennala" ? "b" : "k";
  const Journal journal = train(job(algorithm, workers, 1200, {{option, std::int64_t{k}}}));
  // After an update, those who are answered with it have the current model, all others an old one.
  const double expected =
      algorithm == "k-sync" ? k_sync_round(k, k, workers - k, 0) : k_batch_sync_round(k, 1, workers - 1, 0);
  expect_mean(intervals_of_updates(journal), expected);
  std::map<Rank, double> applied;
  double all = 0.0;
  for (const auto& record : journal.staleness) {
    applied[record.rank] += static_cast<double>(record.pushes);
    all += static_cast<double>(record.pushes);
  }
  for (int worker = 0; worker < workers; ++worker)
    EXPECT_NEAR(applied[worker] / all, 1.0 / workers, 0.04) << "worker " << worker;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PartialRounds,
                         ::testing::Values(PartialRound{"k-sync", 4, 2}, PartialRound{"k-batch-sync", 4, 2}));
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, PartialRounds,
                         ::testing::Values(PartialRound{"k-sync", 4, 1}, PartialRound{"k-sync", 5, 4},
                                           PartialRound{"k-sync", 4, 4}, PartialRound{"k-batch-sync", 3, 5},
                                           PartialRound{"rennala", 4, 3}));

// ---- Without a server ----

/// Each worker waits for its neighbours' models of the same step, and for nothing else: a delay travels by
/// one neighbour in a step.
class Neighbours : public Fairness, public ::testing::WithParamInterface<std::string> {};

TEST_P(Neighbours, WaitOnlyForEachOther) {
  constexpr int workers = 8, steps = 7;
  const auto duration = [](int worker, int step) { return worker == 0 && step == 0 ? 6.0 : 1.0; };
  std::vector<int> begun(workers);
  let_work_take(
      workers, [&](int worker) { return duration(worker, begun[static_cast<std::size_t>(worker)]++); },
      nothing);
  Experiment experiment = job("d-psgd", workers, steps, {{"order", GetParam()}});
  experiment.sync.over = sync::Route::peers;
  experiment.placement.servers.clear();
  const Journal journal = train(experiment);
  std::vector<double> begin(workers, 0.0);
  std::map<std::pair<int, int>, double> ends;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> sent = begin, end(workers);
    for (int worker = 0; worker < workers; ++worker)
      if (GetParam() == "step-first") sent[static_cast<std::size_t>(worker)] += duration(worker, step);
    for (int worker = 0; worker < workers; ++worker) {
      double& last = end[static_cast<std::size_t>(worker)];
      last = begin[static_cast<std::size_t>(worker)] + duration(worker, step);
      for (const int other : sync::neighbourhood("ring", workers, worker))
        last = std::max(last, sent[static_cast<std::size_t>(other)]);
      ends[{worker, step}] = last;
    }
    begin = end;
  }
  for (const auto& step : journal.steps)
    EXPECT_NEAR((step.start + step.duration()).count(), (ends[{step.rank, step.step}]), 1e-3)
        << "worker " << step.rank << ", step " << step.step;
  EXPECT_EQ(journal.steps.size(), static_cast<std::size_t>(workers * steps));
}
INSTANTIATE_TEST_SUITE_P(Orders, Neighbours, ::testing::Values("overlap", "step-first"),
                         [](const auto& order) {
                           return order.param == "overlap" ? "Overlap" : "StepFirst";
                         });

// ---- Cache nodes ----

class CacheNodes : public Fairness {
 protected:
  static constexpr double step_s = 0.05;

  /// Models are exchanged so rarely that only batches cross the links.
  Experiment reading_job(int workers, const std::vector<std::string>& nodes) {
    Experiment experiment = job("easgd-async", workers, 1, {{"tau", std::int64_t{60}}});
    experiment.data.source = DataSource::storage;
    experiment.data.prefetch = 2;
    experiment.data.cache = "lru";
    experiment.data.cache_capacity = Bytes(10'000'000);
    experiment.placement.cache_nodes = nodes;
    let_work_take(
        workers, [](int) { return step_s; }, nothing);
    return experiment;
  }
};

/// A batch is on its way to one worker for 20 steps of the others, who get theirs all the same.
TEST_F(CacheNodes, AWorkerOnASlowLinkDelaysNoOther) {
  const double batch = 16 * 785;
  platform_ = star({{3, batch}});
  Experiment experiment = reading_job(3, {"host-0"});
  experiment.placement.servers = {"host-9"};
  const Journal journal = train(experiment);
  EXPECT_EQ(job_->data().info().record_bytes().count(), 785);
  std::map<Rank, std::vector<double>> durations;
  for (const auto& step : journal.steps)
    if (step.step >= 5 && step.step < 55) durations[step.rank].push_back(step.duration().count());
  const auto mean = [&](Rank rank) {
    return std::accumulate(durations[rank].begin(), durations[rank].end(), 0.0) /
           static_cast<double>(durations[rank].size());
  };
  EXPECT_NEAR(mean(0) / step_s, 1.0, 0.05);
  EXPECT_NEAR(mean(1) / step_s, 1.0, 0.05);
  EXPECT_NEAR(mean(2), 1.0, 0.05);
}

/// A node on a worker's own host serves it, so no batch crosses a link.
TEST_F(CacheNodes, ServeTheWorkersOfTheirHost) {
  Experiment experiment = reading_job(4, {"host-1", "host-2"});
  experiment.placement.workers = {"host-1", "host-1", "host-2", "host-2"};
  const Journal journal = train(experiment, true);
  std::map<Rank, Rank> node_of;
  for (const auto& operation : journal.operations)
    if (operation.kind == "send" && operation.rank < 4 &&
        job_->roster().assignment(operation.peer).role == RankAssignment::Role::cache_node)
      node_of[operation.rank] = operation.peer;
  ASSERT_EQ(node_of.size(), 4U);
  for (const auto& [worker, node] : node_of)
    EXPECT_EQ(job_->roster().assignment(worker).host, job_->roster().assignment(node).host);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
