// Closed forms of rounds with their communication, through the roles of the job: when each step of unequal
// workers begins. A worker computes for a time of its own, nothing else takes time but messages.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

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

  /// By worker, when its steps begin. `computing_s`: of a step, by worker.
  std::vector<std::vector<double>> starts_of(const std::string& algorithm,
                                             const std::map<std::string, OptionValue>& options,
                                             const std::vector<double>& computing_s) {
    const int workers = static_cast<int>(computing_s.size());
    Experiment experiment = small_experiment(workers);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.model = "synthetic";
    experiment.workload.synthetic_parameters = parameters;
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = options;
    price_ = [computing_s](Rank rank, const Work& work) {
      return Seconds(work.kind == Work::Kind::forward ? computing_s.at(static_cast<std::size_t>(rank)) : 0.0);
    };
    journal_ = train(experiment);
    std::vector<std::vector<double>> starts(computing_s.size());
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

}  // namespace TANDEM_FILE
}  // namespace tandem
