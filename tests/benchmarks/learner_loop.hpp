// A worker's training step without its messages, which the learner's benchmarks compare with bare libtorch
// loops.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <span>

#include "workloads/exchange/finite_guard.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// Hyperparameters of both loops.
constexpr double learning_rate = 0.01;
constexpr double momentum = 0.9;
constexpr double weight_decay = 5e-4;

using Records = std::span<const std::byte>;

/// SGD with momentum.
class LearnerLoop {
 public:
  LearnerLoop(const LearnerSetting& setting, ComputeDevice& device)
      : device_(device),
        learner_(make_learner(setting, device)),
        guard_(learner_->description(), OnNonFinite::stop, device),
        sgd_(learning_rate, momentum, weight_decay, learner_->description().elements(), 0, false, device) {
    learner_->after_backward([this](int bucket) { guard_.inspect(bucket, learner_->gradient()); });
  }

  /// Waits as a worker does, which must know that one piece of work is done before it starts the next: for
  /// the batch, the loss, each bucket's gradient, and the update.
  void step(Records records) {
    learner_->load(records);
    wait();
    compute([] {});
  }

  /// As a worker whose device is a GPU: trains on the batch of the previous call, and loads this one during
  /// the last bucket's backward; the first call trains on its own batch.
  void step_loading_ahead(Records next) {
    if (!has_batch_) learner_->load(next);
    has_batch_ = true;
    wait();
    compute([&] { learner_->load(next); });
  }

  /// Queues everything at once and waits at the end: the lower bound of a step without waits in between.
  void step_at_once(Records records) {
    learner_->load(records);
    guard_.begin(learner_->model());
    learner_->forward();
    const int buckets = static_cast<int>(learner_->description().buckets.size());
    for (int bucket = 0; bucket < buckets; ++bucket) {
      learner_->backward(bucket);
      device_.forget(device_.kernel_end());
    }
    update();
    benchmark::DoNotOptimize(learner_->loss());
    device_.finish();
  }

  Learner& learner() { return *learner_; }

 private:
  /// `during_last`: once the device has all work of the step but the update.
  void compute(const std::function<void()>& during_last) {
    guard_.begin(learner_->model());
    learner_->forward();
    wait();
    const double loss = learner_->loss();
    benchmark::DoNotOptimize(loss);
    const int buckets = static_cast<int>(learner_->description().buckets.size());
    for (int bucket = 0; bucket < buckets; ++bucket) {
      learner_->backward(bucket);
      const DeviceMark end = device_.kernel_end();
      if (bucket + 1 == buckets) during_last();
      wait_for(end);
      guard_.conclude(bucket, loss, learner_->model(), learner_->gradient());
    }
    update();
    wait();
  }
  /// Waits for the end of the last kernel.
  void wait() { wait_for(device_.kernel_end()); }
  void wait_for(DeviceMark end) {
    while (!device_.has_reached(end)) continue;
    device_.forget(end);
  }
  void update() {
    apply_update(sgd_, learner_->description(), 0, learner_->model(), learner_->gradient(), 1.0);
  }

  ComputeDevice& device_;
  std::unique_ptr<Learner> learner_;
  FiniteGuard guard_;
  Sgd sgd_;
  bool has_batch_ = false;
};

}  // namespace tandem
