// The common part of all learners on libtorch: flat model and gradient, batches, the order of buckets, and
// evaluation. A derived class has the network.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <span>

#include "policies/vocabulary/rng.hpp"
#include "workloads/learner/batch_loader.hpp"
#include "workloads/learner/flat_tensors.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/queued_backward.hpp"
#include "workloads/learner/step_loss.hpp"
#include "workloads/learner/step_recording.hpp"
#include "workloads/learner/torch_runner.hpp"

namespace tandem {

class FlatLearner : public Learner {
 public:
  const ModelDescription& description() const final { return flat_.description(); }
  std::span<float> model() final { return flat_.model(); }
  std::span<float> gradient() final { return flat_.gradient(); }

  void load(std::span<const std::byte> records) final;
  void forward() final;
  void weigh(std::span<const float> weights) final;
  double loss() final { return loss_.value(); }
  std::span<const float> sample_losses() final { return loss_.values_of_samples(); }
  void backward(int bucket) final;
  void after_backward(std::function<void(int bucket)> hook) final { after_backward_ = std::move(hook); }
  void begin_at(std::int64_t step) final { steps_ = static_cast<std::uint64_t>(step); }
  std::int64_t repeated_steps() const final { return recording_.repeated(); }
  EvaluationResult evaluate(std::span<const std::byte> records) final;

 protected:
  FlatLearner(const LearnerSetting& setting, ModelDescription description, ComputeDevice& compute_device);

  /// Called before train, and before its repetition. `random`: of this replica and step.
  virtual void begin_pass(Rng random) = 0;
  /// Mean loss of a training step, by step_loss(). Keeps the data that differentiate needs.
  virtual at::Tensor train(const at::Tensor& pixels, const at::Tensor& labels) = 0;
  /// Writes the gradients of a bucket's trained tensors into their windows. Called in the order of buckets
  /// after train.
  virtual void differentiate(int bucket) = 0;
  /// Releases the data of a train that has failed. The model's statistics are restored afterwards.
  virtual void drop_pass() = 0;
  /// Outputs in evaluation; called without autograd.
  virtual at::Tensor evaluate_pixels(const at::Tensor& pixels) = 0;

  const TorchRunner& runner() const { return runner_; }
  FlatTensors& flat() { return flat_; }
  StepLoss& step_loss() { return loss_; }

 private:
  Rng random_of_step() const { return Rng::stream(random_seed_, "step", steps_); }
  void compute_forward();
  bool repeats_step();
  void record_step();
  void calculate(int bucket);
  void calculate_gradients(int bucket);
  at::Tensor scaled(const at::Tensor& pixels) const;

  TorchRunner runner_;
  FlatTensors flat_;
  BatchLoader batches_;
  BatchLoader evaluated_;
  StepLoss loss_;
  StepRecording recording_;
  bool is_repeating_ = false;  ///< this step is queued from the recording
  QueuedBackward backward_;
  std::function<void(int bucket)> after_backward_;
  std::uint64_t random_seed_;
  std::uint64_t steps_ = 0;  ///< number of forward passes so far
};

}  // namespace tandem
