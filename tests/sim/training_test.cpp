// Real mathematics under the simulated clock: what the roles compute together equals what one learner
// computes alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <ostream>

#include "platforms/load.hpp"
#include "sim/simulation.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "tests/support/server_log.hpp"
#include "workloads/job.hpp"
#include "workloads/optimizer.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/replica.hpp"

namespace tandem {
namespace {

using testing::TemporaryPlatform;

/// A small job on a star: workers host-1 ..., everything else on host-0.
Experiment small_experiment(int workers) {
  Experiment experiment;
  experiment.workload.math = Experiment::Workload::Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = "synthetic";
  experiment.workload.train_samples = 96;
  experiment.workload.test_samples = 50;
  experiment.workload.batch = 96 / workers;
  experiment.workload.bucket_bytes = Bytes(4096);
  experiment.optimizer.learning_rate = 0.05;
  experiment.optimizer.momentum = 0.9;
  experiment.stop.rounds = 5;
  for (int worker = 1; worker <= workers; ++worker)
    experiment.placement.workers.push_back("host-" + std::to_string(worker));
  experiment.placement.servers = {"host-0"};
  return experiment;
}

class Training : public ::testing::Test {
 protected:
  Training()
      : directory_(std::filesystem::temp_directory_path() / ("tandem_training_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_ / "checkpoints");
  }
  ~Training() override { std::filesystem::remove_all(directory_); }

  /// Runs the job to its end and returns what its ranks noted.
  Journal train(Experiment experiment, bool operations = false) {
    const TemporaryPlatform file(TemporaryPlatform::star(10, 1e8, 1e-4));
    experiment.platform = file.path();
    job_ = std::make_unique<Job>(std::move(experiment), platforms::load_platform(file.path()),
                                 directory_.string());
    std::vector<Journal> journals(job_->seats().size());
    std::vector<CostModel> prices;
    sim::SimulationSetting setting;
    setting.platform_file = file.path();
    for (const Seat& seat : job_->seats()) {
      setting.hosts.push_back(seat.host);
      prices.push_back(job_->cost_model(static_cast<Rank>(prices.size())));
    }
    setting.price = [&](Rank rank, const Work& work) {
      return prices[static_cast<std::size_t>(rank)].price(work);
    };
    setting.body = [&](Context& context) {
      Journal& journal = journals[static_cast<std::size_t>(context.rank())];
      journal.keep_decisions = true;
      if (!operations) return run_role(*job_, context, journal);
      RecordingContext recording(context, journal.operations);
      run_role(*job_, recording, journal);
    };
    sim::simulate(setting);
    Journal merged;
    for (auto& journal : journals) merged.append(std::move(journal));
    return merged;
  }

  std::vector<float> final_model() const {
    return load_checkpoint((directory_ / "model.pt").string(), job_->model()).values;
  }

  /// The same number of optimiser steps by one learner on the union of all batches, which is the whole data
  /// set.
  std::vector<float> sequential_model(int steps) const {
    const auto learner = make_job_learner(*job_);
    const auto& rates = job_->experiment().optimizer;
    Sgd optimizer(rates.learning_rate, rates.momentum, rates.weight_decay, job_->model().elements());
    for (int step = 0; step < steps; ++step) {
      learner->load(job_->dataset()->records(Dataset::Part::train));
      learner->forward();
      for (int bucket = 0; bucket < static_cast<int>(job_->model().buckets.size()); ++bucket)
        learner->backward(bucket);
      optimizer.apply(learner->model(), learner->gradient(), 1.0, 0);
    }
    return {learner->model().begin(), learner->model().end()};
  }

  static void expect_close(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
    ASSERT_EQ(a.size(), b.size());
    float worst = 0.0F;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    EXPECT_LE(worst, tolerance);
  }

  std::filesystem::path directory_;
  std::unique_ptr<Job> job_;
};

/// A way to train that ends, to rounding, where one worker ends that takes `steps` steps on the union of all
/// batches.
struct Sequential {
  const char* name;
  int workers;
  std::function<void(Experiment&)> change;
  int steps = 5;
};
void PrintTo(const Sequential& value, std::ostream* out) { *out << value.name; }

class EqualsOneWorker : public Training, public ::testing::WithParamInterface<Sequential> {};

TEST_P(EqualsOneWorker, OnTheUnionOfTheBatches) {
  Experiment experiment = small_experiment(GetParam().workers);
  GetParam().change(experiment);
  train(experiment);
  expect_close(final_model(), sequential_model(GetParam().steps), 1e-5F);
}

void use_local_sgd(Experiment& experiment, std::int64_t steps_a_round) {
  experiment.sync.algorithm = "local-sgd";
  experiment.sync.options = {{"h", steps_a_round}};
}

Sequential alone(const char* name, const char* algorithm) {
  return {name, 1, [=](Experiment& experiment) { experiment.sync.algorithm = algorithm; }};
}

INSTANTIATE_TEST_SUITE_P(
    Ways, EqualsOneWorker,
    ::testing::Values(Sequential{"Bsp", 4, [](Experiment&) {}},
                      Sequential{"BspOnThreeShards", 4,
                                 [](Experiment& e) {
                                   e.placement.servers = {"host-0", "host-5", "host-6"};
                                 }},
                      Sequential{"Ring", 3, [](Experiment& e) { e.sync.over = "all-reduce"; }},
                      Sequential{"HalvingDoubling", 6,
                                 [](Experiment& e) {
                                   e.sync.over = "all-reduce";
                                   e.sync.collective = "halving-doubling";
                                 }},
                      alone("AspOfOneWorker", "asp"), alone("KSyncOfOneWorker", "k-sync"),
                      alone("KBatchSyncOfOneWorker", "k-batch-sync"), alone("SspOfOneWorker", "ssp"),
                      alone("DsspOfOneWorker", "dssp"), alone("DynSgdOfOneWorker", "dynsgd"),
                      alone("RennalaOfOneWorker", "rennala"), alone("RingmasterOfOneWorker", "ringmaster"),
                      Sequential{"KSyncOfAllWorkers", 4, [](Experiment& e) { e.sync.algorithm = "k-sync"; }},
                      // The mean of two equal gradients, of which the server holds one while the other comes.
                      Sequential{"RennalaOfTwoGradients", 1,
                                 [](Experiment& e) {
                                   e.stop.rounds = 10;
                                   e.sync.algorithm = "rennala";
                                   e.sync.options = {{"b", std::int64_t{2}}};
                                 }},
                      // One update for each push, so momentum would act four times.
                      Sequential{"SspOfNoneAheadOnAverage", 4,
                                 [](Experiment& e) {
                                   e.optimizer.momentum = 0.0;
                                   e.sync.algorithm = "ssp";
                                   e.sync.options = {{"average", true}};
                                 }},
                      Sequential{"LocalSgdOfOneWorkerForAnyH", 1, [](Experiment& e) { use_local_sgd(e, 3); },
                                 15},
                      // Momentum is each worker's own, so equality needs plain SGD.
                      Sequential{"LocalSgdOfOneStep", 4,
                                 [](Experiment& e) {
                                   e.optimizer.momentum = 0.0;
                                   use_local_sgd(e, 1);
                                 }},
                      Sequential{"LocalSgdOfOneStepOverAllReduce", 4,
                                 [](Experiment& e) {
                                   e.optimizer.momentum = 0.0;
                                   use_local_sgd(e, 1);
                                   e.sync.over = "all-reduce";
                                 }},
                      Sequential{"PostLocalSgdNeverSwitched", 4,
                                 [](Experiment& e) {
                                   e.optimizer.momentum = 0.0;
                                   e.sync.algorithm = "post-local-sgd";
                                 }},
                      Sequential{"EsyncOfEqualDevices", 4,
                                 [](Experiment& e) {
                                   e.optimizer.momentum = 0.0;
                                   e.sync.algorithm = "esync";
                                 }}),
    [](const auto& instance) { return std::string(instance.param.name); });

/// An algorithm with options, and a name for the test.
struct Served {
  std::string name;
  std::string algorithm;
  std::map<std::string, OptionValue> options = {};
};
void PrintTo(const Served& value, std::ostream* out) { *out << value.name; }

/// Every algorithm of the catalogue as it comes, and those that hold, drop or count with options that make
/// them do so often.
std::vector<Served> every_algorithm() {
  std::vector<Served> all;
  for (const std::string& name : sync::catalog().names()) all.push_back({name, name});
  const auto add = [&](const std::string& algorithm, const std::map<std::string, OptionValue>& options) {
    all.push_back({algorithm + "-tight", algorithm, options});
  };
  add("k-sync", {{"k", std::int64_t{2}}});
  add("k-batch-sync", {{"k", std::int64_t{7}}});
  add("rennala", {{"b", std::int64_t{3}}});
  add("ringmaster", {{"r", std::int64_t{1}}});
  add("ssp", {{"staleness", std::int64_t{2}}});
  add("dssp", {{"lower", std::int64_t{1}}, {"upper", std::int64_t{4}}});
  add("dynsgd", {{"staleness", std::int64_t{1}}});
  add("post-local-sgd", {{"switch_round", std::int64_t{2}}, {"h", std::int64_t{3}}});
  return all;
}

class EveryAlgorithm : public Training, public ::testing::WithParamInterface<Served> {
 protected:
  /// Five workers, three of which share a host and so are slower.
  Experiment uneven_experiment() const {
    Experiment experiment = small_experiment(1);
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.batch = 16;
    experiment.stop.rounds = 12;
    experiment.placement.workers = {"host-1", "host-1", "host-2", "host-1", "host-3"};
    experiment.sync.algorithm = GetParam().algorithm;
    experiment.sync.options = GetParam().options;
    return experiment;
  }
  std::map<Rank, testing::ServerLog> server_logs(const Journal& journal) const {
    std::map<Rank, testing::ServerLog> logs;
    for (const auto& record : journal.decisions)
      if (record.side == "server") logs[record.rank].push_back({record.event, record.decisions});
    return logs;
  }
  void expect_sound(const Journal& journal, std::size_t shards) const {
    const auto logs = server_logs(journal);
    EXPECT_EQ(logs.size(), shards);
    for (const auto& [rank, log] : logs) {
      SCOPED_TRACE("server of rank " + std::to_string(rank));
      testing::ServerLaws::expect_kept(log, 5, true);
      testing::expect_replays(GetParam().algorithm, job_->sync_setting(), log);
      const auto pushes = std::count_if(log.begin(), log.end(),
                                        [](const auto& line) { return line.event.starts_with("push"); });
      EXPECT_GE(pushes, 5 * 12);
    }
  }
};

TEST_P(EveryAlgorithm, EndsWithEveryPushAnswered) { expect_sound(train(uneven_experiment()), 1); }

/// Pushes reach the shards in different orders, so that these decide differently; still they write
/// checkpoints together.
TEST_P(EveryAlgorithm, EndsWithEveryPushAnsweredOnEachShard) {
  Experiment experiment = uneven_experiment();
  experiment.evaluate_every = 3;
  experiment.placement.evaluator = "host-0";
  experiment.placement.servers = {"host-0", "host-1", "host-2"};
  const Journal journal = train(experiment);
  expect_sound(journal, 3);
  EXPECT_GE(journal.evaluations.size(), 4U);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryAlgorithm, ::testing::ValuesIn(every_algorithm()),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(Training, TheEvaluatorSeesTheModelLearn) {
  Experiment experiment = small_experiment(2);
  experiment.evaluate_every = 5;
  experiment.stop.rounds = 20;
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.evaluations.size(), 4U);
  EXPECT_GT(journal.evaluations.back().accuracy, 0.5);
  EXPECT_LT(journal.evaluations.back().loss, journal.evaluations.front().loss);
  for (const auto& evaluation : journal.evaluations) EXPECT_LT(evaluation.checkpoint_time, evaluation.time);
}

/// Over all-reduce the first worker writes the checkpoints; the last round has one as well.
TEST_F(Training, TheEvaluatorSeesEveryRoundThatIsDueOverAllReduce) {
  Experiment experiment = small_experiment(2);
  experiment.evaluate_every = 2;
  experiment.stop.rounds = 6;
  experiment.sync.over = "all-reduce";
  experiment.placement.servers.clear();
  experiment.placement.evaluator = "host-0";
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.evaluations.size(), 3U);
  EXPECT_EQ(journal.evaluations.back().round, 6);
}

TEST_F(Training, StorageThroughACacheNodeTrainsOnTheSameData) {
  Experiment experiment = small_experiment(4);
  experiment.data.source = "storage";
  experiment.data.cache_capacity = Bytes(20 * 785);
  experiment.placement.cache_nodes = {"host-0"};
  const Journal journal = train(experiment);
  expect_close(final_model(), sequential_model(5), 1e-5F);
  std::int64_t requests = 0;
  for (const auto& record : journal.caches) requests += record.local + record.storage;
  EXPECT_EQ(requests, 96 * 6);  // five rounds, and one batch a worker that was asked for ahead
}

TEST_F(Training, MinioHitsAreItsCapacityInEveryWarmEpoch) {
  Experiment experiment = small_experiment(2);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.data.source = "storage";
  experiment.data.cache = "minio";
  experiment.data.cache_capacity = Bytes(20 * 785);
  experiment.data.prefetch = 0;
  experiment.placement.cache_nodes = {"host-0"};
  const Journal journal = train(experiment);
  ASSERT_EQ(journal.caches.size(), 5U);
  EXPECT_EQ(journal.caches[0].local, 0);
  for (std::size_t epoch = 1; epoch < 5; ++epoch) EXPECT_EQ(journal.caches[epoch].local, 20);
}

TEST_F(Training, PhasesOfAStepAddUpToItsDuration) {
  Experiment experiment = small_experiment(3);
  experiment.sync.algorithm = "esync";
  const Journal journal = train(experiment);
  for (std::size_t i = 1; i < journal.steps.size(); ++i) {
    const auto& before = journal.steps[i - 1];
    if (before.rank != journal.steps[i].rank) continue;
    EXPECT_NEAR((before.start + before.duration()).count(), journal.steps[i].start.count(), 1e-9);
  }
}

TEST_F(Training, EverySampleIsCountedOnce) {
  const Journal journal = train(small_experiment(4));
  std::int64_t samples = 0;
  for (const auto& step : journal.steps) samples += step.samples;
  EXPECT_EQ(samples, 96 * 5);
}

/// Half of the workers are slow enough to come too late, every time.
TEST_F(Training, SamplesOfDroppedPushesAreCounted) {
  Experiment experiment = small_experiment(4);
  experiment.workload.math = Experiment::Workload::Math::modelled;
  experiment.placement.workers = {"host-1", "host-2", "host-3", "host-3"};
  experiment.placement.servers = {"host-0", "host-5"};
  experiment.sync.algorithm = "k-sync";
  experiment.sync.options = {{"k", std::int64_t{2}}};
  const Journal journal = train(experiment);
  std::int64_t processed = 0, of_slow_host = 0;
  for (const auto& step : journal.steps) {
    processed += step.samples;
    if (step.rank >= 2) of_slow_host += step.samples;
  }
  EXPECT_GE(processed, 96 * 5);
  EXPECT_GT(of_slow_host, 0);
  EXPECT_EQ(journal.dropped_samples, of_slow_host);
}

TEST_F(Training, OperationsAreRecordedInPairs) {
  const Journal journal = train(small_experiment(3), true);
  std::int64_t sent = 0, received = 0;
  for (const auto& operation : journal.operations) {
    EXPECT_LE(operation.start, operation.end);
    if (operation.kind == "send") ++sent;
    if (operation.kind == "receive") ++received;
  }
  EXPECT_EQ(sent, received);
  EXPECT_GT(sent, 0);
}

}  // namespace
}  // namespace tandem
