// LB-BSP: the global batch stays, gradients count by their batches, and workers finish together.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "policies/sync/policy.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace {

using testing::decisions_of;
using testing::PolicyRun;
using testing::random_durations;

constexpr int batch = PolicyRun::configured_batch;

int global_batch(const PolicyRun& run) {
  int sum = 0;
  for (int worker = 0; worker < run.setting().workers; ++worker) sum += run.batch(worker);
  return sum;
}

/// Seconds of each step of the last `count` pushes.
std::vector<double> last_durations(const PolicyRun& run, std::size_t count) {
  std::vector<double> durations;
  for (std::size_t i = run.log().size() - count; i < run.log().size(); ++i)
    durations.push_back(std::get<Push>(parse_server_event(run.log()[i].event)).duration.count());
  return durations;
}

TEST(LbBsp, KeepsTheGlobalBatchWhateverTheSpeeds) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "lb-bsp test");
    PolicyRun run("lb-bsp", random_durations(random), {{"smoothing", 0.1 + 0.9 * random.uniform()}},
                  Rng::stream(seed, "steps"));
    for (int round = 1; round <= 40; ++round) {
      run.run_updates(round);
      EXPECT_EQ(global_batch(run), batch * run.setting().workers);
      for (int worker = 0; worker < run.setting().workers; ++worker) EXPECT_GE(run.batch(worker), 1);
    }
  }
}

/// Weights by samples make the mean of the workers' means the gradient of the union of their batches.
TEST(LbBsp, EachGradientCountsByItsBatchAndNoneIsDropped) {
  PolicyRun run("lb-bsp", {1.0, 4.0, 2.5}, {}, Rng(3));
  run.run_updates(50);
  for (const auto& line : run.log()) {
    const auto push = std::get<Push>(parse_server_event(line.event));
    EXPECT_EQ(decisions_of(line).at(0),
              (testing::Words{"accept", std::to_string(push.worker), std::to_string(push.samples)}));
  }
}

TEST(LbBsp, OfEqualSpeedsIsBsp) {
  const std::vector<double> durations(5, 0.7);
  PolicyRun balanced("lb-bsp", durations), bsp("bsp", durations);
  for (PolicyRun* run : {&balanced, &bsp}) {
    run->run_updates(50);
    run->stop();
  }
  ASSERT_EQ(balanced.log().size(), bsp.log().size());
  for (std::size_t i = 0; i < bsp.log().size(); ++i) {
    EXPECT_EQ(balanced.log()[i].event, bsp.log()[i].event);
    EXPECT_EQ(balanced.log()[i].decisions, bsp.log()[i].decisions);
  }
}

/// Time in proportion to the batch: from the second round on a round takes B / sum of speeds, but for
/// rounding to whole samples.
TEST(LbBsp, TakesTheGlobalBatchOverTheSumOfSpeeds) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "lb-bsp test");
    const auto durations = random_durations(random);
    PolicyRun run("lb-bsp", durations);
    run.run_updates(1);
    EXPECT_DOUBLE_EQ(run.now(), *std::max_element(durations.begin(), durations.end()));
    double speeds = 0.0, slowest_sample = 0.0;
    for (const double duration : durations) {
      speeds += batch / duration;
      slowest_sample = std::max(slowest_sample, duration / batch);
    }
    const double ideal = batch * static_cast<double>(durations.size()) / speeds;
    const double begin = run.now();
    run.run_updates(11);
    EXPECT_GE((run.now() - begin) / 10, ideal * (1.0 - 1e-9));
    EXPECT_LE((run.now() - begin) / 10, ideal + slowest_sample);
  }
}

/// Part of a step's time that no batch makes shorter, as on GPUs: sharing by speed alone gets there in
/// rounds.
TEST(LbBsp, MeetsAlsoWhenStepsHaveAFixedPart) {
  PolicyRun run("lb-bsp", {0.9, 1.7, 3.3, 1.2});
  const std::vector<double> fixed = {0.1, 0.5, 0.3, 0.8}, sample = {0.1, 0.15, 0.375, 0.05};
  run.let_steps_take([&](int worker, int samples) {
    const auto index = static_cast<std::size_t>(worker);
    return Seconds(fixed[index] + sample[index] * samples);
  });
  run.run_updates(60);
  const auto durations = last_durations(run, 4);
  const auto [shortest, longest] = std::minmax_element(durations.begin(), durations.end());
  EXPECT_LE(*longest - *shortest, 0.375 + 0.15);  // a sample of the slowest and one of the second
}

TEST(LbBsp, FollowsAWorkerThatBecomesSlower) {
  PolicyRun run("lb-bsp", {1.0, 1.0});
  run.run_updates(5);
  EXPECT_EQ(run.batch(0), 8);
  run.let_steps_take(
      [](int worker, int samples) { return Seconds(samples * (worker == 0 ? 0.375 : 0.125)); });
  run.run_updates(8);
  EXPECT_EQ(run.batch(0), 4);
  EXPECT_EQ(run.batch(1), 12);
}

}  // namespace
}  // namespace tandem::sync
