// Keys of optimiser, schedule and split: what is accepted, which combinations are rejected, and the exact
// messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "policies/sync/policy.hpp"
#include "tests/workloads/experiment/experiment_text.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/job/check/experiment_file.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::minimal;
using testing::Refusal;

class TrainingKeys : public testing::ExperimentFile {};
class RefusedTrainingKeys : public testing::RefusedFile {};

TEST_F(TrainingKeys, OptionsOfTheSplit) {
  const std::string text = minimal + "data: {split: dirichlet, split_options: {alpha: 0.25}}\n";
  EXPECT_EQ(load(text).data.split_options.at("alpha"), OptionValue(0.25));
  EXPECT_EQ(load(minimal + "data: {split: dirichlet}\n").data.split_options.at("alpha"), OptionValue(0.5));
  EXPECT_TRUE(load(minimal).data.split_options.empty());
  EXPECT_TRUE(load(text, {{"data.split", "by-class"}}).data.split_options.empty());
}

TEST_F(TrainingKeys, OptimizersAndSchedules) {
  const Experiment loaded = load(
      "platform: lab.xml\nstop: {epochs: 3}\noptimizer: {kind: adamw, beta1: 0.8, weight_decay: 0.1, "
      "schedule: cosine, warmup_rounds: 7, cosine_floor: 0.1}\n");
  EXPECT_EQ(loaded.optimizer.kind, OptimizerKind::adamw);
  EXPECT_EQ(loaded.optimizer.beta1, 0.8);
  EXPECT_EQ(loaded.optimizer.beta2, 0.999);
  EXPECT_EQ(loaded.optimizer.warmup_rounds, 7);
  EXPECT_TRUE(load(minimal + "optimizer: {momentum: 0.9, nesterov: true}\n").optimizer.nesterov);
  EXPECT_TRUE(
      load(minimal + "optimizer.momentum: 0.9\n", {{"optimizer.nesterov", "true"}}).optimizer.nesterov);
  // A cosine needs an end: ESync counts rounds, or the key gives the end.
  EXPECT_NO_THROW(load(minimal + "sync: {algorithm: esync}\noptimizer: {schedule: cosine}\n"));
  EXPECT_NO_THROW(
      load("platform: lab.xml\nstop: {seconds: 10}\noptimizer: {schedule: cosine, "
           "cosine_rounds: 100, warmup_rounds: 99}\n"));
}

TEST_F(TrainingKeys, OneWorkerAloneUsesAServerOnlyIfAsked) {
  const std::string sequential = minimal + "sync: {algorithm: sequential";
  EXPECT_EQ(load(sequential + "}\n").sync.over, sync::Route::all_reduce);
  const Experiment over_server = load(sequential + ", over: server}\n");
  EXPECT_EQ(over_server.sync.over, sync::Route::server);
  EXPECT_EQ(with_overrides(over_server, {}, "resumed").sync.over, sync::Route::server);
  EXPECT_EQ(load(minimal, {{"sync.algorithm", "sequential"}}).sync.over, sync::Route::all_reduce);
  EXPECT_EQ(load(minimal).sync.over, sync::Route::server);
}

/// Over any other route than a server, workers always update their models.
TEST_F(TrainingKeys, UpdatesAtWorkersAreAllowedForLockstepAlgorithms) {
  EXPECT_EQ(load(minimal).optimizer.update_at, UpdateSide::server);
  const std::string at_workers = minimal + "optimizer: {update_at: workers, momentum: 0.9}\n";
  for (const char* algorithm : {"bsp", "lb-bsp", "sequential"})
    EXPECT_EQ(load(at_workers, {{"sync.algorithm", algorithm}}).optimizer.update_at, UpdateSide::workers);
  EXPECT_NO_THROW(load(at_workers, {{"sync.algorithm", "esync"}, {"sync.over", "all-reduce"}}));
}

/// For every other algorithm, whatever it exchanges and however it updates the model.
TEST_F(TrainingKeys, UpdatesAtWorkersAreRefusedForOtherAlgorithms) {
  for (const auto& algorithm : sync::catalog().entries()) {
    if (algorithm.make.make_server == nullptr || algorithm.make.lockstep) continue;
    EXPECT_EQ(
        error_of(minimal + "sync: {algorithm: " + algorithm.name + "}\noptimizer: {update_at: workers}\n"),
        "lab.yaml:4: key 'optimizer.update_at': expected server, because " + algorithm.name +
            " does not send all workers the gradient of every update at once (sequential | bsp | lb-bsp do), "
            "found 'workers'");
  }
}

TEST_F(TrainingKeys, PrecisionAndDeterminism) {
  const Experiment plain = load(minimal);
  EXPECT_EQ(plain.workload.precision, Precision::fp32);
  EXPECT_TRUE(plain.workload.deterministic);
  const Experiment fast = load(minimal + "workload: {math: real, precision: bf16, deterministic: false}\n");
  EXPECT_EQ(fast.workload.precision, Precision::bf16);
  EXPECT_FALSE(fast.workload.deterministic);
  EXPECT_NE(to_yaml(fast).find("precision: bf16"), std::string::npos) << "also written to YAML";
  EXPECT_NE(to_yaml(fast).find("deterministic: false"), std::string::npos);
  EXPECT_EQ(load(minimal + "workload: {math: modelled, precision: fp16}\n").workload.precision,
            Precision::fp16);
}

TEST_F(TrainingKeys, KeysNeedAServerThatDecidesAboutEach) {
  const std::set<std::string> by_times = {"lb-bsp",          "asp",    "ssp", "dssp", "esync",
                                          "esync-published", "adacomm"};
  for (const auto& algorithm : sync::catalog().entries()) {
    if (std::ranges::count(algorithm.make.routes, sync::Route::server) == 0) continue;
    const std::string error =
        error_of(minimal + "sync: {exchange: by-key, algorithm: " + algorithm.name + "}\n");
    if (!algorithm.make.timing_driven || by_times.contains(algorithm.name))
      EXPECT_EQ(error, "no error") << algorithm.name;
    else
      EXPECT_EQ(
          error.find("lab.yaml:3: key 'sync.exchange': expected whole with " + algorithm.name +
                     ", because each bucket of an exchange by key has its own rounds, about which servers of "
                     "sequential | bsp"),
          0U)
          << error;
  }
}

TEST_P(RefusedTrainingKeys, SaysWhereAndWhy) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Values, RefusedTrainingKeys,
    ::testing::Values(
        Refusal{"NegativeBeta", minimal + "optimizer: {kind: adam, beta1: -0.1}\n",
                "lab.yaml:3: key 'optimizer.beta1': expected number >= 0 and < 1, found '-0.1'"},
        Refusal{"NoEpsilon", minimal + "optimizer: {kind: adam, epsilon: 0}\n",
                "lab.yaml:3: key 'optimizer.epsilon': expected number >= 0.000000000001, found '0'"},
        Refusal{"OptimizerOfNoName", minimal + "optimizer: {kind: adagrad}\n",
                "lab.yaml:3: key 'optimizer.kind': expected sgd | adam | adamw, found 'adagrad'"},
        Refusal{"ScheduleOfNoName", minimal + "optimizer: {schedule: linear}\n",
                "lab.yaml:3: key 'optimizer.schedule': expected constant | step | cosine, found 'linear'"},
        Refusal{"UpdateOfNobody", minimal + "optimizer: {update_at: worker}\n",
                "lab.yaml:3: key 'optimizer.update_at': expected server | workers, found 'worker'"},
        Refusal{"FactorOfZero", minimal + "optimizer: {step_factor: 0}\n",
                "lab.yaml:3: key 'optimizer.step_factor': expected number > 0 and <= 1, found '0'"},
        Refusal{"PrecisionOfNoName", minimal + "workload: {precision: fp8}\n",
                "lab.yaml:3: key 'workload.precision': expected fp32 | tf32 | bf16 | fp16, found 'fp8'"},
        Refusal{"NumberForYesOrNo", minimal + "optimizer: {nesterov: 1}\n",
                "lab.yaml:3: key 'optimizer.nesterov': expected true | false, found '1'"}),
    [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Sense, RefusedTrainingKeys,
    ::testing::Values(
        Refusal{"UnscaledLossInFp16", minimal + "workload: {math: real, precision: fp16}\n",
                "lab.yaml:3: key 'workload.precision': expected fp32, tf32 or bf16, because workload.math is "
                "real and fp16 would need a scaled loss, found 'fp16'"},
        Refusal{"MomentumOfAdam", minimal + "optimizer: {kind: adam, momentum: 0.9}\n",
                "lab.yaml:3: key 'optimizer.momentum': expected 0, because adam and adamw have beta1 "
                "instead, found '0.9'"},
        Refusal{
            "NesterovWithoutMomentum", minimal + "optimizer: {nesterov: true}\n",
            "lab.yaml:3: key 'optimizer.nesterov': expected false, because optimizer.momentum is 0, found "
            "'true'"},
        Refusal{"StepWithoutInterval", minimal + "optimizer: {schedule: step}\n",
                "lab.yaml: key 'optimizer.step_every': expected 1 round or more between drops, because "
                "optimizer.schedule is step, found '0'"},
        Refusal{
            "CosineOfUnknownLength",
            "platform: lab.xml\nstop: {seconds: 10}\noptimizer: {schedule: cosine}\n",
            "lab.yaml: key 'optimizer.cosine_rounds': expected the number of rounds until the cosine ends, "
            "or stop.rounds or stop.epochs, found '0'"},
        Refusal{
            "CosineOfEpochsWithoutRounds",
            "platform: lab.xml\nstop: {epochs: 1}\nsync: {algorithm: esync}\n"
            "optimizer: {schedule: cosine}\n",
            "lab.yaml: key 'optimizer.cosine_rounds': expected the number of rounds until the cosine ends, "
            "because with esync it does not follow from stop.epochs, found '0'"},
        Refusal{"WarmUpWithoutEnd", minimal + "optimizer: {schedule: cosine, warmup_rounds: 5}\n",
                "lab.yaml:3: key 'optimizer.warmup_rounds': expected fewer than the 5 rounds of the cosine, "
                "found '5'"},
        Refusal{"RequestsOverAnAllReduce", minimal + "sync: {over: all-reduce, pull: requested}\n",
                "lab.yaml:3: key 'sync.pull': expected pushed, because over all-reduce no server answers "
                "workers (sync.over), found 'requested'"},
        Refusal{"PullOfNoName", minimal + "sync: {pull: asked}\n",
                "lab.yaml:3: key 'sync.pull': expected pushed | requested, found 'asked'"},
        Refusal{"ExchangeOfNoName", minimal + "sync: {exchange: keys}\n",
                "lab.yaml:3: key 'sync.exchange': expected whole | by-key, found 'keys'"},
        Refusal{"KeysOverPeers", minimal + "sync: {algorithm: d-psgd, over: peers, exchange: by-key}\n",
                "lab.yaml:3: key 'sync.exchange': expected whole, because over peers no server answers "
                "workers (sync.over), found 'by-key'"},
        Refusal{"KeysWhileTheNextForwardRuns", minimal + "sync: {overlap: both, exchange: by-key}\n",
                "lab.yaml:3: key 'sync.overlap': expected none or backward, because sync.exchange is by-key: "
                "the bucket of the first layers is exchanged last, so forward would wait for all, found "
                "'both'"},
        Refusal{
            "AccuracyOfAFirstWorkerWithoutCommonRounds",
            minimal + "stop.accuracy: 0.5\nworkload: {math: real}\nevaluate_every: 2\n"
                      "sync: {algorithm: asp}\nplacement: {evaluator: first-worker}\n",
            "lab.yaml:7: key 'placement.evaluator': expected a host, because with asp the server, which "
            "stops at stop.accuracy, does not count the rounds of the first worker, found 'first-worker'"},
        Refusal{"OptionOfTheSplit", minimal + "data: {split: dirichlet, split_options: {alpha: 0}}\n",
                "lab.yaml:3: key 'data.split_options' of dirichlet: option 'alpha': expected number >= 0.001 "
                "and <= 1e+06, found '0'"},
        Refusal{"OptionOfAnotherSplit", minimal + "data: {split_options: {alpha: 1}}\n",
                "lab.yaml:3: key 'data.split_options' of iid: unknown option 'alpha'"}),
    [](const auto& test) { return test.param.name; });

}  // namespace TANDEM_FILE
}  // namespace tandem
