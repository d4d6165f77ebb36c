// Closed forms of rounds with their communication, through the roles of the job: when each step of unequal
// workers begins. A worker computes for a time of its own, nothing else takes time but messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::small_experiment;

constexpr double alpha = 0.01;     ///< latency of a message in seconds
constexpr double bandwidth = 1e8;  ///< of each host's link, each way, in bytes per second
constexpr std::int64_t parameters = 120'000;
/// Of a whole model on an idle link, and of a note, without their latency.
constexpr double model_s = (4.0 * parameters + sizeof(Note)) / bandwidth;
constexpr double note_s = sizeof(Note) / bandwidth;

class RoundTimes : public testing::Training {
 protected:
  RoundTimes() { platform_ = testing::TemporaryPlatform::star(10, bandwidth, alpha); }

  static Experiment job(const std::string& algorithm, const std::map<std::string, OptionValue>& options,
                        std::size_t workers) {
    Experiment experiment = small_experiment(static_cast<int>(workers));
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_parameters = parameters;
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    return experiment;
  }
  /// By worker, when its steps begin. `computing_s`: of a step, by worker.
  std::vector<std::vector<double>> starts_of(const std::string& algorithm,
                                             const std::map<std::string, OptionValue>& options,
                                             const std::vector<double>& computing_s) {
    price_ = [computing_s](Rank rank, const Work& work) {
      return Seconds(work.kind == Work::Kind::forward ? computing_s.at(static_cast<std::size_t>(rank)) : 0.0);
    };
    return starts_of(job(algorithm, options, computing_s.size()));
  }
  std::vector<std::vector<double>> starts_of(const Experiment& experiment) {
    journal_ = train(experiment);
    std::vector<std::vector<double>> starts(experiment.placement.workers.size());
    for (const auto& step : journal_.steps)
      starts.at(static_cast<std::size_t>(step.rank)).push_back(step.start.count());
    return starts;
  }
  /// Up to the precision with which SimGrid merges events.
  static void expect_starts(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_GE(found.size(), expected.size());
    for (std::size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(found[step], expected[step], 1e-5 * (1.0 + expected[step])) << "step " << step;
  }
  static std::vector<double> multiples_of(double period_s, int count) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(i * period_s);
    return times;
  }

  Journal journal_;
};

/// Only the push of the slowest worker is waited for, and the server sends all answers at once.
TEST_F(RoundTimes, BspOfUnequalWorkers) {
  const double round_s = 0.4 + (alpha + model_s) + (alpha + 4 * model_s);
  for (const auto& starts : starts_of("bsp", {}, {0.1, 0.2, 0.3, 0.4}))
    expect_starts(starts, multiples_of(round_s, 5));
}

/// The fast worker may take `staleness` + 1 steps alone. From then on, each push of the slow worker releases
/// it, and both answers share the server's link.
TEST_F(RoundTimes, SspWithABound) {
  const double alone_s = 0.1 + 2 * (alpha + model_s);
  const double released_s = 1.0 + (alpha + model_s) + (alpha + 2 * model_s);
  const auto starts = starts_of("ssp", {{"staleness", std::int64_t{2}}}, {1.0, 0.1});
  expect_starts(starts.at(0), multiples_of(released_s, 4));
  expect_starts(starts.at(1), {0.0, alone_s, 2 * alone_s, released_s, 2 * released_s, 3 * released_s});
}

/// The answer to a worker that continues with its copy is a note. After each third step, it gets a model.
TEST_F(RoundTimes, SspCachedOfOneWorker) {
  const double push_s = alpha + model_s, model_reply_s = alpha + model_s, note_reply_s = alpha + note_s;
  const auto starts = starts_of("ssp-cached", {{"staleness", std::int64_t{2}}}, {0.1});
  std::vector<double> expected = {0.0};
  for (int step = 1; step < 5; ++step)
    expected.push_back(expected.back() + 0.1 + push_s + (step % 3 == 0 ? model_reply_s : note_reply_s));
  expect_starts(starts.at(0), expected);
  std::int64_t received = 0;
  for (const StepRecord& step : journal_.steps) received += step.bytes_received;
  EXPECT_EQ(received, 4 * parameters) << "after the third of five steps";
}

/// Before each step, and after the last one, a worker asks and waits for the answer. The fast one exchanges
/// after k steps, the first for which another one would end after the slow worker's step: without its
/// questions after four, with them after three. The first round measures one step of each.
TEST_F(RoundTimes, EsyncWithItsQuery) {
  constexpr double fast_s = 0.245, slow_s = 1.0, query_s = 2 * (alpha + note_s);
  int k = 1;
  while ((k + 1) * fast_s + k * query_s <= slow_s) ++k;
  EXPECT_EQ(k, 3);
  const double round_s = slow_s + 2 * query_s + (alpha + model_s) + (alpha + 2 * model_s);
  const auto starts = starts_of("esync-published", {{"epsilon_s", 0.0}}, {slow_s, fast_s});
  expect_starts(starts.at(0), multiples_of(round_s, 4));
  std::vector<double> of_fast = {0.0};
  for (int round = 1; round < 4; ++round)
    for (int step = 0; step < k; ++step)
      of_fast.push_back(round * round_s + (step > 0 ? query_s : 0.0) + step * (fast_s + query_s));
  expect_starts(starts.at(1), of_fast);
}

/// A round lasts as long as the step of the slower of the two workers that were drawn. All get its model.
TEST_F(RoundTimes, FedAvgOfAFraction) {
  const std::vector<double> computing_s = {0.1, 0.2, 0.3, 0.4};
  starts_of("fedavg", {{"h", std::int64_t{1}}, {"fraction", 0.5}}, computing_s);
  std::map<int, std::vector<StepRecord>> rounds;
  for (const StepRecord& step : journal_.steps) rounds[step.round].push_back(step);
  ASSERT_EQ(rounds.size(), 5U);
  double begin = 0.0;
  for (const auto& [round, steps] : rounds) {
    ASSERT_EQ(steps.size(), 2U) << "round " << round;
    double slowest_s = 0.0;
    for (const StepRecord& step : steps) {
      EXPECT_NEAR(step.start.count(), begin, 1e-5 * (1.0 + begin)) << "round " << round;
      EXPECT_EQ(step.version, round);
      slowest_s = std::max(slowest_s, computing_s.at(static_cast<std::size_t>(step.rank)));
    }
    begin += slowest_s + (alpha + model_s) + (alpha + 4 * model_s);
  }
}

/// With cancel, all workers begin each round together, so that it lasts as long as the K-th shortest of their
/// steps. A worker that is stopped finishes its bucket first, and begins late by as much.
TEST_F(RoundTimes, KSyncWithCancelIsAnOrderStatistic) {
  platform_ = testing::TemporaryPlatform::star(10, 1e12, 1e-9);
  constexpr std::size_t workers = 4, k = 3;
  constexpr int buckets = 50;
  Rng random(1);
  std::vector<std::vector<double>> steps(workers);
  price_ = [&](Rank rank, const Work& work) {
    if (rank >= static_cast<Rank>(workers)) return Seconds(0.0);
    auto& own = steps[static_cast<std::size_t>(rank)];
    if (work.kind == Work::Kind::forward) own.push_back(-std::log(1.0 - random.uniform()));
    return Seconds(work.kind == Work::Kind::backward ? own.back() / buckets : 0.0);
  };
  Experiment experiment = job("k-sync", {{"k", std::int64_t{k}}, {"cancel", true}}, workers);
  experiment.workload.synthetic_buckets = buckets;
  experiment.stop.rounds = 40;
  const auto starts = starts_of(experiment);
  const auto begin_of = [&](std::size_t round) {
    double begin = starts.front().at(round);
    for (const auto& of_worker : starts) begin = std::min(begin, of_worker.at(round));
    return begin;
  };
  double bucket_s = 0.0;  // of the longest step of the round before
  for (std::size_t round = 0; round + 1 < 40; ++round) {
    std::vector<double> of_round;
    for (const auto& of_worker : steps) of_round.push_back(of_worker.at(round));
    std::ranges::sort(of_round);
    const double round_s = begin_of(round + 1) - begin_of(round);
    EXPECT_GE(round_s, of_round[k - 1] - 1e-4) << "round " << round;
    EXPECT_LE(round_s, of_round[k - 1] + bucket_s + 1e-4) << "round " << round;
    bucket_s = of_round.back() / buckets;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
