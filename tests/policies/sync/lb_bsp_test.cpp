// LB-BSP: the global batch stays constant, gradients are weighted by their batches, and workers finish
// together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/sync/policy.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

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

TEST(LbBsp, KeepsTheGlobalBatchAtAnySpeeds) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "lb-bsp test");
    const std::string step_time = random.below(2) == 0 ? "proportional" : "affine";
    PolicyRun run("lb-bsp", random_durations(random),
                  {{"smoothing", 0.1 + 0.9 * random.uniform()}, {"step_time", step_time}},
                  Rng::stream(seed, "steps"));
    for (int round = 1; round <= 40; ++round) {
      run.run_updates(round);
      EXPECT_EQ(global_batch(run), batch * run.setting().workers);
      for (int worker = 0; worker < run.setting().workers; ++worker) EXPECT_GE(run.batch(worker), 1);
    }
  }
}

/// Weighting by samples makes the mean of the workers' means the gradient of the union of their batches.
TEST(LbBsp, WeighsEachGradientByItsBatchAndDropsNone) {
  PolicyRun run("lb-bsp", {1.0, 4.0, 2.5}, {}, Rng(3));
  run.run_updates(50);
  for (const auto& line : run.log()) {
    const auto push = std::get<Push>(parse_server_event(line.event));
    EXPECT_EQ(decisions_of(line).at(0),
              (testing::Words{"accept", std::to_string(push.worker), std::to_string(push.samples)}));
  }
}

TEST(LbBsp, WithEqualSpeedsIsBsp) {
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

/// Step time proportional to the batch: from the second round on, a round takes B / sum of speeds, up to
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

/// Steps have a fixed time, as on GPUs: balancing by speed alone needs several rounds to converge.
TEST(LbBsp, ConvergesWhenStepsHaveAFixedPart) {
  PolicyRun run("lb-bsp", {0.9, 1.7, 3.3, 1.2});
  const std::vector<double> fixed = {0.1, 0.5, 0.3, 0.8}, sample = {0.1, 0.15, 0.375, 0.05};
  run.let_steps_take([&](int worker, int samples) {
    const auto index = static_cast<std::size_t>(worker);
    return Seconds(fixed[index] + sample[index] * samples);
  });
  run.run_updates(60);
  const auto durations = last_durations(run, 4);
  const auto [shortest, longest] = std::minmax_element(durations.begin(), durations.end());
  EXPECT_LE(*longest - *shortest, 0.375 + 0.15);  // a sample of the slowest and the second slowest
}

/// With noisy steps, no worker's batch diverges because of a line fitted through noise.
TEST(LbBsp, EqualWorkersKeepTheirBatchesDespiteNoise) {
  for (const auto seed : testing::seeds(5)) {
    TANDEM_TRACE_SEED(seed);
    Rng random(seed);
    PolicyRun run("lb-bsp", std::vector<double>(8, 1.0),
                  {{"step_time", std::string("affine")}, {"smoothing", 0.5}});
    run.let_steps_take([&](int, int samples) {
      const double mean = 20.0 * batch + 256.0 * samples;
      return Seconds(1e-3 * mean / batch * std::exp(0.05 * random.normal()));
    });
    for (int round = 0; round < 300; ++round) {
      run.run_updates(1);
      for (int worker = 0; worker < 8; ++worker) {
        ASSERT_GE(run.batch(worker), batch / 2) << "round " << round;
        ASSERT_LE(run.batch(worker), batch + batch / 2) << "round " << round;
      }
    }
  }
}

/// By speed alone, batches stop changing when the next correction is less than half a sample.
TEST(LbBsp, FindsTheFixedPartOfSteps) {
  const auto take = [](int worker, int samples) {
    return Seconds((worker == 0 ? 4.0 : 3.0) + 0.1 * samples);
  };
  PolicyRun fitted("lb-bsp", {4.8, 3.8}, {{"step_time", std::string("affine")}, {"smoothing", 0.5}});
  PolicyRun by_speed("lb-bsp", {4.8, 3.8});
  for (PolicyRun* run : {&fitted, &by_speed}) run->let_steps_take(take);
  fitted.run_updates(2);
  by_speed.run_updates(60);
  EXPECT_EQ(fitted.batch(0), 3);
  EXPECT_EQ(fitted.batch(1), 13);
  EXPECT_EQ(by_speed.batch(0), 5);
  const double begin = fitted.now();
  fitted.run_updates(12);
  EXPECT_NEAR(fitted.now() - begin, 10 * 4.3, 1e-9);
}

/// If the affine models are exact, no other distribution would end a round earlier by more than the time of
/// two samples of any worker.
TEST(LbBsp, EndsRoundsAsEarlyAsItsModelsAllow) {
  for (const auto seed : testing::seeds(60)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "lines");
    const std::size_t workers = 2 + random.below(7);
    std::vector<double> fixed, sample, first;
    double slowest_sample = 0.0;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      fixed.push_back(0.5 + random.uniform());
      sample.push_back(0.05 + 0.2 * random.uniform());
      first.push_back(fixed.back() + batch * sample.back());
      slowest_sample = std::max(slowest_sample, sample.back());
    }
    PolicyRun run("lb-bsp", first, {{"step_time", std::string("affine")}, {"smoothing", 0.5}});
    run.let_steps_take([&](int worker, int samples) {
      const auto index = static_cast<std::size_t>(worker);
      return Seconds(fixed[index] + sample[index] * samples);
    });
    run.run_updates(20);
    const auto last = last_durations(run, workers);
    const double longest = *std::max_element(last.begin(), last.end());
    // The total that all workers could process by then does not exceed what was processed.
    double others_could = 0.0;
    for (std::size_t worker = 0; worker < workers; ++worker)
      others_could +=
          std::max(0.0, std::floor((longest - 2 * slowest_sample - fixed[worker]) / sample[worker]));
    EXPECT_LE(others_could, batch * static_cast<double>(workers));
  }
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

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
