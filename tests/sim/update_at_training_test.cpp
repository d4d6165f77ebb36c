// Where the optimiser runs when training with a server changes the time, never the model: it is bit by bit
// that of a server that updates it, and that of an all-reduce with the same order of sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Change;
using testing::small_experiment;
using testing::Training;

/// `workers` workers that train a network with batch normalisation; each uses its four images as the batch of
/// every step.
Experiment with_statistics(int workers) {
  Experiment experiment = small_experiment(workers);
  experiment.workload.model = "resnet32";
  experiment.workload.train_samples = 4 * workers;
  experiment.workload.batch = 4;
  experiment.workload.bucket_bytes = Bytes(1 << 20);
  experiment.stop.rounds = 3;
  return experiment;
}

class UpdateAt : public Training, public ::testing::WithParamInterface<Change> {
 protected:
  /// Trains both variants in separate processes and compares whole models, including checkpoints.
  void expect_same_models(Experiment one, Experiment other) {
    for (Experiment* experiment : {&one, &other}) {
      experiment->evaluate_every = 2;
      experiment->placement.evaluator = "host-0";
    }
    train_apart(one, "one");
    train_apart(other, "other");
    const testing::TemporaryPlatform file(testing::TemporaryPlatform::star(10, 1e8, 1e-4));
    job_ = std::make_unique<Job>(one, platforms::load_platform(file.path()), directory_.string());
    for (const char* name : {"checkpoints/round_00000002.pt", "model.pt"}) {
      const auto expected = model_in("one", name), found = model_in("other", name);
      EXPECT_TRUE(expected == found) << name << " differs by " << distance(expected, found);
      EXPECT_GT(distance(expected, initial_model(job_->replica_plan())), 1e-4F);
    }
  }
  static Experiment at_workers(Experiment experiment) {
    experiment.optimizer.update_at = UpdateSide::workers;
    return experiment;
  }
};

class UpdateAtWorkers : public UpdateAt {};

TEST_P(UpdateAtWorkers, GivesTheModelOfUpdatesAtTheServer) {
  Experiment experiment = small_experiment(4);
  GetParam().make(experiment);
  // Workers of different speeds; their ratios are such that rounding to whole samples is not sensitive to
  // clock errors.
  price_ = [](Rank rank, const Work& work) {
    return Seconds(1e-5 * (1.0 + 0.3 * rank) * std::max(1, work.samples));
  };
  expect_same_models(experiment, at_workers(experiment));
}

void use_adam(Experiment& experiment) {
  experiment.optimizer.kind = OptimizerKind::adamw;
  experiment.optimizer.momentum = 0.0;
  experiment.optimizer.learning_rate = 1e-3;
  experiment.optimizer.weight_decay = 0.1;
}

std::string name_of_change(const ::testing::TestParamInfo<Change>& instance) { return instance.param.name; }

INSTANTIATE_TEST_SUITE_P(Ways, UpdateAtWorkers,
                         ::testing::Values(Change{"NesterovInStepsOnThreeShards",
                                                  [](Experiment& e) {
                                                    e.optimizer.nesterov = true;
                                                    e.optimizer.schedule = RateDecay::step;
                                                    e.optimizer.step_every = 2;
                                                    e.placement.servers = {"host-0", "host-5", "host-6"};
                                                  }},
                                           Change{"AdamOnShardsWhileTheNextForwardRuns",
                                                  [](Experiment& e) {
                                                    use_adam(e);
                                                    e.sync.overlap = OverlapMode::both;
                                                    e.sync.sharding = "round-robin";
                                                    e.placement.servers = {"host-0", "host-5", "host-6"};
                                                  }},
                                           Change{"CompressedPushes",
                                                  [](Experiment& e) {
                                                    e.sync.compression = "top-k";
                                                    e.placement.servers = {"host-0", "host-5"};
                                                  }}),
                         name_of_change);

INSTANTIATE_TEST_SUITE_P(
    LongWays, UpdateAtWorkers,
    ::testing::Values(Change{"Momentum", [](Experiment&) {}},
                      Change{"AdamWarmingUp",
                             [](Experiment& e) {
                               use_adam(e);
                               e.optimizer.warmup_rounds = 3;
                             }},
                      Change{"WithoutOverlap", [](Experiment& e) { e.sync.overlap = OverlapMode::none; }},
                      Change{"UnequalBatchesOfLbBsp", [](Experiment& e) { e.sync.algorithm = "lb-bsp"; }},
                      Change{"Sequential",
                             [](Experiment& e) {
                               e = small_experiment(1);
                               e.sync.algorithm = "sequential";
                             }},
                      Change{"AveragedStatistics",
                             [](Experiment& e) {
                               e = with_statistics(2);
                               e.placement.servers = {"host-0", "host-5"};
                             }}),
    name_of_change);

class UpdateAtWorkersOfTwo : public UpdateAt {};

/// A sum of two has only one order, and division by a power of two is exact.
TEST_P(UpdateAtWorkersOfTwo, GivesTheModelOfAnAllReduce) {
  Experiment experiment = small_experiment(2);
  experiment.workload.train_samples = 64;
  experiment.workload.batch = 32;
  GetParam().make(experiment);
  Experiment ring = experiment;
  ring.sync.over = sync::Route::all_reduce;
  ring.placement.servers.clear();
  expect_same_models(ring, at_workers(experiment));
}

INSTANTIATE_TEST_SUITE_P(Variants, UpdateAtWorkersOfTwo,
                         ::testing::Values(Change{"AveragedStatistics",
                                                  [](Experiment& e) { e = with_statistics(2); }}),
                         name_of_change);
INSTANTIATE_TEST_SUITE_P(LongVariants, UpdateAtWorkersOfTwo,
                         ::testing::Values(Change{"Momentum", [](Experiment&) {}},
                                           Change{"AdamWhileTheNextForwardRuns",
                                                  [](Experiment& e) {
                                                    use_adam(e);
                                                    e.sync.overlap = OverlapMode::both;
                                                  }},
                                           Change{"StatisticsOfOnesOwn",
                                                  [](Experiment& e) {
                                                    e = with_statistics(2);
                                                    e.sync.average_statistics = false;
                                                  }}),
                         name_of_change);

/// Pushes are counted like those that a server applies; the first worker's model is evaluated.
TEST_F(Training, MeansOfAServerCountAsUpdatesByAllWorkers) {
  Experiment experiment = small_experiment(4);
  experiment.optimizer.update_at = UpdateSide::workers;
  experiment.evaluate_every = 2;
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  EXPECT_EQ(journal.evaluations.size(), 2U);
  EXPECT_EQ(journal.evaluations.back().round, 4);
  EXPECT_EQ(journal.evaluations.back().samples, 4 * 96);
  ASSERT_EQ(journal.staleness.size(), 4U);
  for (const auto& record : journal.staleness) {
    EXPECT_EQ(record.staleness, 0);
    EXPECT_EQ(record.pushes, 5);
    EXPECT_EQ(record.samples, 5 * 24);
  }
  for (const auto& step : journal.steps) {
    EXPECT_EQ(step.bytes_sent, job_->model().bytes().count());
    EXPECT_EQ(step.bytes_received, step.bytes_sent);
  }
  expect_close(final_model(), sequential_model(5), 1e-5F);
}

class TimeOfUpdates : public Training, public ::testing::WithParamInterface<std::tuple<UpdateSide, int>> {};

/// Four workers push to and pull from their shards. A shard adds four parts and updates or scales the result;
/// workers that update do so with their whole model.
TEST_P(TimeOfUpdates, IsSpentByTheUpdatingRole) {
  const auto& [update_at, shards] = GetParam();
  constexpr double parameters = 120'000, reduce_s = 0.01, update_s = 0.1, forward_s = 1.0;
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.workload.model = "synthetic";
  experiment.workload.synthetic_parameters = static_cast<std::int64_t>(parameters);
  experiment.optimizer.update_at = update_at;
  experiment.placement.servers.clear();
  for (int shard = 0; shard < shards; ++shard)
    experiment.placement.servers.push_back("host-" + std::to_string(9 - shard));
  price_ = [](Rank, const Work& work) {
    const double models = static_cast<double>(work.bytes.count()) / (4 * parameters);
    if (work.kind == Work::Kind::reduce) return Seconds(reduce_s * models);
    if (work.kind == Work::Kind::update) return Seconds(update_s * models);
    return Seconds(work.kind == Work::Kind::forward ? forward_s : 0.0);
  };
  const Journal journal = train(experiment);
  constexpr double latency = 1e-4, bandwidth = 1e8;
  const bool at_workers = update_at == UpdateSide::workers;
  const double part = 4 * parameters / shards + sizeof(Note);
  const double at_server = (4 * reduce_s + (at_workers ? reduce_s : update_s)) / shards;
  const double exchange = 2 * (latency + 4 * part / bandwidth) + at_server;
  const double update = at_workers ? update_s : 0.0;
  ASSERT_EQ(journal.steps.size(), 4U * 5U);
  const auto phase = [](const StepRecord& step, Phase of) {
    return step.phases[static_cast<std::size_t>(of)].count();
  };
  for (const auto& step : journal.steps) {
    EXPECT_NEAR(phase(step, Phase::exchange), exchange, 1e-5 * exchange);
    EXPECT_NEAR(phase(step, Phase::update), update, 1e-9);
    EXPECT_NEAR(step.start.count(), step.step * (forward_s + exchange + update), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(At, TimeOfUpdates,
                         ::testing::Combine(::testing::Values(UpdateSide::server, UpdateSide::workers),
                                            ::testing::Values(1, 2)),
                         [](const auto& instance) {
                           return to_text(std::get<0>(instance.param)) +
                                  std::to_string(std::get<1>(instance.param));
                         });

}  // namespace TANDEM_FILE
}  // namespace tandem
