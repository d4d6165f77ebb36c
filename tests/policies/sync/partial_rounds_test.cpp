// K-sync, K-batch-sync, Rennala and Ringmaster: which gradients are applied, and the algorithms that they
// equal at extreme options.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/sync/policy.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::decisions_of;
using testing::expect_same_log;
using testing::PolicyRun;
using testing::random_durations;

/// Outcome of the pushes of a run.
struct Fate {
  std::vector<int> gradients_of_updates;  ///< number of gradients in each update
  std::vector<int> accepted_delays;       ///< versions between the model of a push and its arrival
  std::vector<int> dropped_delays;
};

Fate fate_of_pushes(const PolicyRun& run) {
  Fate fate;
  int version = 0, accepted = 0;
  for (const auto& line : run.log()) {
    const auto event = parse_server_event(line.event);
    for (const auto& decision : decisions_of(line)) {
      if (decision[0] == "accept") {
        ++accepted;
        fate.accepted_delays.push_back(version - std::get<Push>(event).version);
      } else if (decision[0] == "discard") {
        fate.dropped_delays.push_back(version - std::get<Push>(event).version);
      } else if (decision[0] == "apply") {
        fate.gradients_of_updates.push_back(accepted);
        accepted = 0;
        ++version;
      }
    }
  }
  return fate;
}

void expect_only_fresh_gradients(const std::string& algorithm, const std::string& option, int most) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "fresh test");
    const auto durations = random_durations(random);
    const int bound = most > 0 ? most : static_cast<int>(durations.size());
    const auto wanted = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(bound)));
    PolicyRun run(algorithm, durations, {{option, wanted}}, Rng::stream(seed, "steps"));
    run.run_updates(100);
    ASSERT_EQ(run.version(), 100);
    const Fate fate = fate_of_pushes(run);
    for (const int gradients : fate.gradients_of_updates) EXPECT_EQ(gradients, wanted);
    for (const int delay : fate.accepted_delays) EXPECT_EQ(delay, 0);
    for (const int delay : fate.dropped_delays) EXPECT_GT(delay, 0);
  }
}

TEST(KSync, EachUpdateIsExactlyKGradientsOfTheCurrentModel) { expect_only_fresh_gradients("k-sync", "k", 0); }
TEST(KBatchSync, EachUpdateIsExactlyKGradientsOfTheCurrentModel) {
  expect_only_fresh_gradients("k-batch-sync", "k", 20);
}
TEST(Rennala, EachUpdateIsExactlyBGradientsOfTheCurrentModel) {
  expect_only_fresh_gradients("rennala", "b", 20);
}

TEST(KSync, DoesNotWaitForTheSlowest) {
  PolicyRun run("k-sync", {1.0, 1.0, 1.0, 9.5}, {{"k", std::int64_t{3}}});
  run.run_updates(100);
  EXPECT_DOUBLE_EQ(run.now(), 100.0);
  // A step of the slowest worker spans nine or ten rounds: all of its pushes are too late.
  const Fate fate = fate_of_pushes(run);
  ASSERT_EQ(fate.dropped_delays.size(), 10U);
  for (const int delay : fate.dropped_delays) EXPECT_GE(delay, 9);
}

TEST(KSync, WithAllWorkersIsBsp) { expect_same_log({"k-sync", {}}, {"bsp", {}}); }

TEST(KSync, DefaultsToTheNumberOfWorkers) {
  const std::vector<double> durations = {1.0, 3.0, 2.0};
  PolicyRun named("k-sync", durations, {{"k", std::int64_t{3}}});
  PolicyRun bsp("bsp", durations);
  named.run_updates(20);
  bsp.run_updates(20);
  EXPECT_EQ(named.update_times(), bsp.update_times());
}

TEST(KSync, RefusesKAboveTheNumberOfWorkers) {
  EXPECT_THROW(PolicyRun("k-sync", {1.0, 1.0}, {{"k", std::int64_t{3}}}), ConfigError);
}

/// All workers begin each round together, so it is an order statistic of the steps that they begin in it.
TEST(KSync, WithCancelARoundLastsAsLongAsTheKthShortestOfItsSteps) {
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "order statistics");
    std::vector<std::vector<double>> steps;
    for (std::uint64_t worker = 0; worker < 2 + seed % 6; ++worker) steps.push_back({random.uniform()});
    const std::size_t k = 1 + random.below(steps.size() - 1);
    std::vector<double> first_steps;
    for (const auto& of_worker : steps) first_steps.push_back(of_worker.front());
    PolicyRun run("k-sync", first_steps, {{"k", static_cast<std::int64_t>(k)}, {"cancel", true}});
    run.let_steps_take([&](int worker, int) {
      return Seconds(steps.at(static_cast<std::size_t>(worker)).emplace_back(random.uniform()));
    });
    run.run_updates(50);
    double end = 0.0;
    for (std::size_t round = 0; round < 50; ++round) {
      std::vector<double> of_round;
      for (const auto& of_worker : steps) of_round.push_back(of_worker.at(round));
      std::ranges::sort(of_round);
      end += of_round[k - 1];
      ASSERT_NEAR(run.update_times().at(round), end, 1e-9) << "round " << round;
    }
  }
}

/// As soon as its gradient would be dropped, and not before.
TEST(Cancel, StopsAStepWhenItIsTooOld) {
  struct Rule {
    std::string algorithm, option;
    std::int64_t value, delay;
  };
  for (const auto& [algorithm, option, value, delay] :
       {Rule{"k-sync", "k", 2, 1}, Rule{"k-batch-sync", "k", 5, 1}, Rule{"rennala", "b", 3, 1},
        Rule{"ringmaster", "r", 3, 3}}) {
    PolicyRun run(algorithm, {1.0, 1.3, 2.9, 7.1}, {{option, value}, {"cancel", true}},
                  Rng::stream(1, algorithm));
    run.run_updates(200);
    int stopped = 0;
    for (const auto& line : run.log()) {
      const auto event = parse_server_event(line.event);
      stopped += std::get<Push>(event).cancelled ? 1 : 0;
    }
    const Fate fate = fate_of_pushes(run);
    EXPECT_GT(stopped, 20) << algorithm;
    EXPECT_EQ(std::ssize(fate.dropped_delays), stopped) << algorithm;
    for (const int dropped : fate.dropped_delays) EXPECT_EQ(dropped, delay) << algorithm;
    for (const int accepted : fate.accepted_delays) EXPECT_LT(accepted, delay) << algorithm;
  }
}

TEST(KBatchSync, NoWorkerEverWaits) {
  PolicyRun run("k-batch-sync", {1.0, 4.0}, {{"k", std::int64_t{5}}});
  for (int update = 1; update < 50; ++update) {
    run.run_updates(update);
    EXPECT_FALSE(run.is_waiting(0) || run.is_waiting(1));
  }
}

TEST(Rennala, IsKBatchSync) {
  for (const std::int64_t gradients : {0, 1, 3, 11})
    expect_same_log({"rennala", {{"b", gradients}}}, {"k-batch-sync", {{"k", gradients}}});
}

TEST(Ringmaster, WithoutBoundIsAsp) {
  expect_same_log({"ringmaster", {{"r", std::int64_t{1} << 60}}}, {"asp", {}});
}

TEST(Ringmaster, WithBoundOneIsRennalaOfOne) {
  // One gradient alone makes an update, so its weight does not matter.
  for (const auto seed : testing::seeds(30)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "bound one");
    const auto durations = random_durations(random);
    PolicyRun ringmaster("ringmaster", durations, {{"r", std::int64_t{1}}}, Rng::stream(seed, "steps"));
    PolicyRun rennala("rennala", durations, {{"b", std::int64_t{1}}}, Rng::stream(seed, "steps"));
    for (PolicyRun* run : {&ringmaster, &rennala}) run->run_updates(200);
    EXPECT_EQ(ringmaster.update_times(), rennala.update_times());
    EXPECT_EQ(testing::releases(ringmaster), testing::releases(rennala));
    EXPECT_EQ(fate_of_pushes(ringmaster).accepted_delays, fate_of_pushes(rennala).accepted_delays);
    EXPECT_EQ(fate_of_pushes(ringmaster).dropped_delays, fate_of_pushes(rennala).dropped_delays);
  }
}

TEST(Ringmaster, AppliesNoGradientThatIsTooOld) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "ringmaster test");
    const auto bound = static_cast<std::int64_t>(1 + random.below(8));
    PolicyRun run("ringmaster", random_durations(random), {{"r", bound}}, Rng::stream(seed, "steps"));
    run.run_updates(200);
    ASSERT_EQ(run.version(), 200);
    const Fate fate = fate_of_pushes(run);
    for (const int delay : fate.accepted_delays) EXPECT_LT(delay, bound);
    for (const int delay : fate.dropped_delays) EXPECT_GE(delay, bound);
  }
}

TEST(Ringmaster, DropsNothingOfEquallyFastWorkersByDefault) {
  PolicyRun run("ringmaster", {1.0, 1.0, 1.0, 1.0});
  run.run_updates(200);
  EXPECT_TRUE(fate_of_pushes(run).dropped_delays.empty());
}

TEST(PostLocalSgd, SwitchedAtOnceIsLocalSgd) {
  for (const std::int64_t h : {1, 4})
    expect_same_log({"post-local-sgd", {{"h", h}, {"switch_round", std::int64_t{0}}}},
                    {"local-sgd", {{"h", h}}});
}

TEST(PostLocalSgd, NeverSwitchedIsLocalSgdOfOneStep) {
  expect_same_log({"post-local-sgd", {{"switch_round", std::int64_t{1} << 40}}},
                  {"local-sgd", {{"h", std::int64_t{1}}}});
}

TEST(PostLocalSgd, NeverSwitchedWaitsAsBsp) {
  const std::vector<double> durations = {1.0, 3.0, 2.0};
  PolicyRun post("post-local-sgd", durations, {{"switch_round", std::int64_t{1000}}});
  PolicyRun bsp("bsp", durations);
  post.run_updates(20);
  bsp.run_updates(20);
  EXPECT_EQ(testing::releases(post), testing::releases(bsp));
}

TEST(PostLocalSgd, TakesOneStepThenH) {
  PolicyRun run("post-local-sgd", {1.0, 3.0}, {{"h", std::int64_t{5}}, {"switch_round", std::int64_t{2}}});
  run.run_updates(4);
  EXPECT_EQ(run.steps(0), (std::vector<int>{1, 1, 5, 5}));
  EXPECT_DOUBLE_EQ(run.now(), (1 + 1 + 5 + 5) * 3.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
