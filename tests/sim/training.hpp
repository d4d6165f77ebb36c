// A small job with real mathematics under the simulated clock, its final model, and the model of a single
// learner for comparison.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "platforms/load.hpp"
#include "sim/job_world.hpp"
#include "tests/sim/temporary_platform.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem::testing {

/// A small job on a star: workers host-1 ..., everything else on host-0.
inline Experiment small_experiment(int workers) {
  Experiment experiment;
  experiment.checkpoint.at_end = false;
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

/// A named change of an experiment, for parameters of tests.
struct Change {
  std::string name;
  std::function<void(Experiment&)> make;
};
inline void PrintTo(const Change& value, std::ostream* out) { *out << value.name; }

class Training : public ::testing::Test {
 protected:
  /// The second launch of a job, at that time, whose ranks are ready at another one.
  static Generation launched_again(double launched_s, double ready_s) {
    return {.began = Seconds(ready_s),
            .ended = {{.began = Seconds(0), .reason = "a rank died"}},
            .launched = Seconds(launched_s)};
  }
  Training()
      : directory_(std::filesystem::temp_directory_path() / ("tandem_training_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(directory_ / "checkpoints");
  }
  ~Training() override { std::filesystem::remove_all(directory_); }

  /// Runs the job to its end and returns the journal of its ranks.
  Journal train(Experiment experiment, bool operations = false) {
    const TemporaryPlatform file(platform_.empty() ? TemporaryPlatform::star(10, 1e8, 1e-4, host_properties_)
                                                   : platform_);
    experiment.platform = file.path();
    job_ = std::make_unique<Job>(std::move(experiment), platforms::load_platform(file.path()),
                                 directory_.string());
    if (files_apart_) job_->set_files_apart();
    if (records_losses_) job_->record_losses();
    if (generation_) job_->set_generation(*generation_);
    if (!resumes_.empty()) job_->resume_from(find_resume_point(*job_, resumes_.string(), {}));
    const auto change = [this](sim::SimulationSetting& setting) {
      if (price_) setting.price = price_;
      setting.eager_limit = sim::SimulationSetting().eager_limit;
      setting.all_reduce = [](std::span<const Rank> members, Bytes size) {
        return Seconds(1e-5 * static_cast<double>(members.size()) + 1e-8 * static_cast<double>(size.count()));
      };
    };
    sim::JobRun run =
        sim::simulate_job(*job_, {.operations = operations, .decisions = true, .change = change});
    makespan_ = run.makespan;
    return std::move(run.journal);
  }

  /// Trains in a separate process and folder, since SimGrid has one engine per process; returns the makespan.
  /// `check`: called there with the journal.
  Seconds train_apart(const Experiment& experiment, const std::string& folder,
                      const std::function<void(const Journal&)>& check = {}) {
    const auto target = directory_ / folder;
    std::filesystem::create_directories(target / "checkpoints");
    const pid_t child = fork();
    EXPECT_GE(child, 0);
    if (child == 0) {
      directory_ = target;
      const Journal journal = train(experiment);
      if (check) check(journal);
      std::ofstream(target / "makespan") << std::setprecision(17) << makespan_.count();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    double makespan = std::numeric_limits<double>::quiet_NaN();
    std::ifstream(target / "makespan") >> makespan;
    return Seconds(makespan);
  }
  /// A model of a training in a separate process: its last one, or `file`.
  std::vector<float> model_in(const std::string& folder, const std::string& file = "model.pt") const {
    return load_checkpoint((directory_ / folder / file).string(), job_->model()).values;
  }

  std::vector<float> final_model() const {
    return load_checkpoint((directory_ / "model.pt").string(), job_->model()).values;
  }

  /// The model after the same number of optimiser steps by one learner on the union of all batches, which is
  /// the whole data set.
  std::vector<float> sequential_model(int steps, std::optional<double> momentum = {}) const {
    OptimizerSetting setting = job_->exchange().optimizer_setting();
    setting.momentum = momentum.value_or(setting.momentum);
    return sequential_model(steps, setting);
  }
  std::vector<float> sequential_model(int steps, const OptimizerSetting& setting) const {
    const auto learner = make_job_learner(job_->replica_plan());
    Optimizer optimizer(setting, job_->model().elements());
    const int steps_per_round = job_->exchange().steps_per_round();
    for (int step = 0; step < steps; ++step) {
      learner->load(job_->data().dataset()->records(Dataset::Part::train));
      learner->forward();
      for (int bucket = 0; bucket < static_cast<int>(job_->model().buckets.size()); ++bucket)
        learner->backward(bucket);
      optimizer.begin_update({step / steps_per_round, step % steps_per_round});
      optimizer.apply(learner->model(), learner->gradient(), 1.0, 0);
    }
    return {learner->model().begin(), learner->model().end()};
  }

  /// The gradient of the mean loss over a worker's whole shard, which is its batch in every step.
  std::vector<double> gradient_at(Learner& learner, const std::vector<double>& model, int worker) const {
    return gradient_of(learner, model, job_->data().deals().shard(worker));
  }
  /// The same over these samples.
  std::vector<double> gradient_of(Learner& learner, const std::vector<double>& model,
                                  const std::vector<SampleId>& ids) const {
    std::copy(model.begin(), model.end(), learner.model().begin());
    std::vector<std::byte> batch;
    for (const SampleId id : ids) {
      const auto record = job_->data().dataset()->record(Dataset::Part::train, id);
      batch.insert(batch.end(), record.begin(), record.end());
    }
    learner.load(batch);
    learner.forward();
    for (int bucket = 0; bucket < static_cast<int>(job_->model().buckets.size()); ++bucket)
      learner.backward(bucket);
    return {learner.gradient().begin(), learner.gradient().end()};
  }

  /// The largest difference of any element.
  static float distance(const std::vector<float>& a, const std::vector<float>& b) {
    float worst = a.size() == b.size() ? 0.0F : std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
  }
  /// Where the input of a ReLU is 0 up to rounding, two calculations may disagree about its derivative, on
  /// some processors and not on others, and a few elements differ by more.
  static void expect_close(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
    constexpr float few_may_differ = 100;
    EXPECT_LE(distance(a, b), few_may_differ * tolerance);
    double squares = 0.0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      squares += std::pow(static_cast<double>(a[i]) - b[i], 2);
    EXPECT_LE(std::sqrt(squares / static_cast<double>(a.size())), tolerance);
  }

  std::filesystem::path directory_;
  std::unique_ptr<Job> job_;
  bool records_losses_ = false;                      ///< Job::record_losses
  std::string platform_;                             ///< contents of <platform>; empty: a star
  std::string host_properties_;                      ///< XML inside each host
  std::function<Seconds(Rank, const Work&)> price_;  ///< of work; empty: as determined by the devices
  bool files_apart_ = false;                         ///< Job::set_files_apart
  std::optional<Generation> generation_;             ///< a launch of a job whose rank has died
  std::filesystem::path resumes_;                    ///< a result directory; empty: a new job
  Seconds makespan_;                                 ///< of the last training
};

}  // namespace tandem::testing
