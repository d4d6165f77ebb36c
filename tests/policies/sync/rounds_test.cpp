// Outer optimisers, EASGD, AdaComm and Sync-Switch: their rounds, and the algorithms that they equal at
// extreme options. Updates of models are tested elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/support/policy_run.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/sync_runs.hpp"

namespace tandem::sync {
namespace TANDEM_FILE {

using testing::expect_same_log;
using testing::PolicyRun;

UpdateRule rule_of(const std::string& algorithm, int workers,
                   const std::map<std::string, OptionValue>& options = {}) {
  const auto& entry = catalog().find(algorithm);
  return entry.make.update_rule(
      {workers, 8, Route::server, Options::resolve(algorithm, entry.options, options)});
}

class RoundsOfLocalSgd : public ::testing::TestWithParam<const char*> {};

TEST_P(RoundsOfLocalSgd, HasTheSameLog) {
  const std::string algorithm = GetParam();
  const std::string steps = algorithm == "easgd" ? "tau" : "h";
  std::map<std::string, OptionValue> options = {{steps, std::int64_t{3}}};
  if (algorithm == "fedavg") options["weights"] = std::string("uniform");
  expect_same_log({algorithm, options}, {"local-sgd", {{"h", std::int64_t{3}}}});
}

INSTANTIATE_TEST_SUITE_P(Outer, RoundsOfLocalSgd, ::testing::Values("fedavg", "slowmo", "diloco", "easgd"));

TEST(FedAvg, IsTheMeanByDefault) {
  const auto rule = std::get<OuterMomentum>(rule_of("fedavg", 4));
  EXPECT_EQ(rule.rate, 1.0);
  EXPECT_EQ(rule.momentum, 0.0);
  expect_same_log({"fedavg", {{"h", std::int64_t{5}}}},
                  {"local-sgd", {{"h", std::int64_t{5}}, {"weights", std::string("samples")}}});
}

/// A round lasts as long as the step of the slowest worker that was drawn. Of 500 rounds, each of five
/// workers takes part in 200, and with 4 deviations of sqrt(500 0.4 0.6) in 156 to 244.
TEST(FedAvg, DrawsAFractionForEachRound) {
  constexpr int rounds = 500;
  PolicyRun run("fedavg", {1.0, 1.0, 1.0, 1.0, 10.0}, {{"h", std::int64_t{1}}, {"fraction", 0.4}});
  run.run_updates(rounds);
  std::map<std::string, int> parts;
  int accepted = 0;
  for (const auto& line : run.log())
    for (const auto& decision : testing::decisions_of(line)) {
      if (decision[0] == "accept") {
        ++parts[decision[1]];
        ++accepted;
      }
      if (decision[0] == "apply") {
        EXPECT_EQ(accepted, 2);
        accepted = 0;
      }
    }
  ASSERT_EQ(parts.size(), 5U);
  for (const auto& [worker, count] : parts) EXPECT_NEAR(count, 200, 44) << worker;
  EXPECT_DOUBLE_EQ(run.now(), rounds + 9.0 * parts.at("4"));
}

/// Two epochs of 64, 32 and 12 samples in batches of 8: 16, 8 and 3 steps.
TEST(FedAvg, WeighsEpochsOfUnequalShardsByTheirSamples) {
  const auto& entry = catalog().find("fedavg");
  const std::vector<std::int64_t> shards = {64, 32, 12};
  const Setting setting{.workers = 3,
                        .batch = 8,
                        .route = Route::all_reduce,
                        .options = Options::resolve("fedavg", entry.options, {{"epochs", 2.0}}),
                        .shard = [&](int worker) { return shards.at(static_cast<std::size_t>(worker)); }};
  EXPECT_EQ(entry.make.steps_per_round(setting.options), 0) << "workers differ";
  const std::vector<int> steps = {16, 8, 3};
  for (int worker = 0; worker < 3; ++worker) {
    const auto policy = entry.make.make_worker(setting, worker);
    const int last = steps.at(static_cast<std::size_t>(worker));
    for (int step = 1; step <= last; ++step) {
      const WorkerDecision decision = policy->on_step_done({Seconds(0), Seconds(1), 8, step});
      const auto* exchange = std::get_if<Exchange>(&decision);
      ASSERT_EQ(exchange != nullptr, step == last) << worker << ' ' << step;
      if (exchange != nullptr) {
        EXPECT_EQ(exchange->weight, 8.0 * last);
      }
    }
  }
}

TEST(DiLoCo, TakesThePapersOuterOptimiser) {
  const auto rule = std::get<OuterMomentum>(rule_of("diloco", 4));
  EXPECT_EQ(rule.rate, 0.7);
  EXPECT_EQ(rule.momentum, 0.9);
  EXPECT_TRUE(rule.nesterov);
  PolicyRun run("diloco", {1.0, 2.0});
  run.run_updates(1);
  EXPECT_DOUBLE_EQ(run.now(), 500 * 2.0);
}

/// The options are what is published; the update rule has mean gradients.
TEST(DcAsgd, CorrectsMeanGradientsAsItsSourcesCorrectTheirs) {
  struct Case {
    const char* algorithm;
    double option, of_means;  ///< of batches of 8
  };
  for (const auto& [algorithm, option, of_means] :
       {Case{"dc-asgd", 0.04, 0.04}, Case{"dc-asgd-adaptive", 2.0, 2.0}, Case{"dc-asgd-mxnet", 0.04, 0.32}}) {
    const auto& entry = catalog().find(algorithm);
    EXPECT_EQ(Options::resolve(algorithm, entry.options, {}).real("lambda"), option) << algorithm;
    EXPECT_DOUBLE_EQ(std::get<DelayCompensation>(rule_of(algorithm, 4)).lambda, of_means) << algorithm;
  }
  // MXNet's formula on a sum of eight equal gradients 0.5, a model that moved by 3.
  const double mean = 0.5, sum = 8 * mean, moved = 3;
  EXPECT_DOUBLE_EQ((sum + 0.04 * sum * sum * moved) / 8, mean + 0.32 * mean * mean * moved);
  const auto& entry = catalog().find("dc-asgd-mxnet");
  const Setting of_sums{.workers = 4,
                        .batch = 8,
                        .route = Route::server,
                        .options = Options::resolve("dc-asgd-mxnet", entry.options, {}),
                        .sums_gradients = true};
  EXPECT_DOUBLE_EQ(std::get<DelayCompensation>(entry.make.update_rule(of_sums)).lambda, 0.04);
}

TEST(Easgd, EachWorkerUsesItsShareOfBeta) {
  EXPECT_DOUBLE_EQ(std::get<ElasticTie>(rule_of("easgd", 5, {{"beta", 0.8}})).pull, 0.16);
}

TEST(AdaComm, WithOneStepIsLocalSgdOfOneStep) {
  expect_same_log({"adacomm", {{"tau", std::int64_t{1}}, {"period_s", 0.0}}},
                  {"local-sgd", {{"h", std::int64_t{1}}}});
}

TEST(AdaComm, IsLocalSgdUntilItsFirstPeriodEnds) {
  expect_same_log({"adacomm", {{"tau", std::int64_t{4}}, {"period_s", 1e9}}},
                  {"local-sgd", {{"h", std::int64_t{4}}}});
}

TEST(AdaComm, ScalesStepsByTheRootOfTheLossRatio) {
  PolicyRun run("adacomm", {1.0, 2.0}, {{"tau", std::int64_t{20}}, {"period_s", 100.0}});
  run.run_updates(2);  // ends at 80 s
  run.set_loss(0.25);
  run.run_updates(3);  // ends at 120 s; from then on half as many steps
  run.run_updates(5);
  EXPECT_EQ(run.steps(0), (std::vector<int>{20, 20, 20, 10, 10}));
  EXPECT_DOUBLE_EQ(run.now(), 2.0 * (3 * 20 + 2 * 10));
}

/// If the initial loss were not finite, no later ratio would be defined.
TEST(AdaComm, ComparesWithTheFirstFiniteLoss) {
  PolicyRun run("adacomm", {1.0, 2.0}, {{"tau", std::int64_t{20}}, {"period_s", 100.0}});
  run.set_loss(std::nan(""));
  run.run_updates(1);
  run.set_loss(1.0);
  run.run_updates(2);  // ends at 80 s
  run.set_loss(1.0 / 16.0);
  run.run_updates(4);
  EXPECT_EQ(run.steps(0), (std::vector<int>{20, 20, 20, 5}));
}

TEST(AdaComm, NeverTakesMoreStepsThanBefore) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "adacomm test");
    PolicyRun run("adacomm", testing::random_durations(random), {{"period_s", 5.0 * random.uniform()}});
    for (int update = 1; update <= 60; ++update) {
      run.set_loss(random.below(10) == 0 ? std::nan("") : random.uniform() * 3.0);
      run.run_updates(update);
    }
    const auto& steps = run.steps(0);
    EXPECT_TRUE(std::is_sorted(steps.rbegin(), steps.rend()));
    EXPECT_EQ(steps.front(), 16);
    EXPECT_EQ(steps.back(), 1);
    for (int worker = 1; worker < run.setting().workers; ++worker) EXPECT_EQ(run.steps(worker), steps);
  }
}

TEST(SyncSwitch, WithFractionOneIsBsp) {
  // The job ends when PolicyRun's job ends: until then the algorithm does not switch.
  const std::vector<double> durations = {1.0, 3.0, 2.0};
  PolicyRun switching("sync-switch", durations, {{"fraction", 1.0}}, Rng(5)),
      bsp("bsp", durations, {}, Rng(5));
  for (PolicyRun* run : {&switching, &bsp}) run->run_updates(PolicyRun::pushes_of_job - 1);
  ASSERT_EQ(switching.log().size(), bsp.log().size());
  for (std::size_t i = 0; i < bsp.log().size(); ++i) {
    ASSERT_EQ(switching.log()[i].event, bsp.log()[i].event);
    ASSERT_EQ(switching.log()[i].decisions, bsp.log()[i].decisions);
  }
}

TEST(SyncSwitch, WithFractionZeroIsAsp) {
  expect_same_log({"sync-switch", {{"fraction", 0.0}}}, {"asp", {}});
}

/// Each shard receives the pushes of a round in a different order, and computes the progress of the job
/// itself.
TEST(SyncSwitch, ShardsSwitchInTheSameRound) {
  constexpr int workers = 4, rounds = 40;
  const auto& entry = catalog().find("sync-switch");
  for (const auto seed : testing::seeds(20)) {
    TANDEM_TRACE_SEED(seed);
    Rng random = Rng::stream(seed, "shards");
    const Options options =
        Options::resolve(entry.name, entry.options, {{"fraction", 0.05 + 0.9 * random.uniform()}});
    std::vector<int> switched;
    for (int shard = 0; shard < 2; ++shard) {
      const auto server = entry.make.make_server({workers, 8, Route::server, options});
      std::vector<int> order(workers);
      std::iota(order.begin(), order.end(), 0);
      int pushes = 0, round = 0;
      for (bool in_rounds = true; in_rounds && round < rounds; ++round) {
        random.shuffle(order);
        for (const int worker : order) {
          ++pushes;
          const double done = static_cast<double>(pushes / workers) / rounds;
          ServerDecisions decisions;
          server->on_push({Seconds(pushes), worker, round, 8, 1, Seconds(1), 1.0, done}, decisions);
          const auto replies = std::ranges::count_if(
              decisions, [](const auto& decision) { return std::holds_alternative<Reply>(decision); });
          in_rounds = in_rounds && replies != 1;
        }
      }
      switched.push_back(round);
    }
    EXPECT_EQ(switched[0], switched[1]);
    EXPECT_LT(switched[0], rounds);
  }
}

/// A quarter of the pushes are in rounds; each of the others is one update; all of them count as progress.
TEST(SyncSwitch, SwitchesAfterItsFractionOfTheJob) {
  PolicyRun run("sync-switch", {1.0, 3.0, 2.0, 2.5}, {{"fraction", 0.25}});
  const int rounds = PolicyRun::pushes_of_job / 4;
  run.run_updates(rounds);
  EXPECT_DOUBLE_EQ(run.now(), rounds * 3.0);
  EXPECT_DOUBLE_EQ(run.done(), 0.25);
  run.run_updates(rounds + 3 * PolicyRun::pushes_of_job);
  EXPECT_DOUBLE_EQ(run.done(), 1.0);
  const auto waiting = [&](int worker) { return run.is_waiting(worker); };
  EXPECT_FALSE(waiting(0) || waiting(1) || waiting(2) || waiting(3));
  const double rates = 1.0 + 1.0 / 3.0 + 1.0 / 2.0 + 1.0 / 2.5;
  EXPECT_NEAR(run.now() - rounds * 3.0, 3 * PolicyRun::pushes_of_job / rates, 3.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::sync
