// The common part of all learners on libtorch: flat model and gradient, batches, the order of buckets, and
// evaluation. A derived class has the network.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/learner/batch_loader.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/step_graphs.hpp"
#include "workloads/learner/torch_mode.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

class FlatLearner : public Learner {
 public:
  ~FlatLearner() override;
  const ModelDescription& description() const final { return description_; }
  std::span<float> model() final { return model_.span(); }
  std::span<float> gradient() final { return gradient_.span(); }

  void load(std::span<const std::byte> records) final;
  void forward() final;
  void weigh(std::span<const float> weights) final;
  double loss() final;
  std::span<const float> sample_losses() final;
  void backward(int bucket) final;
  void after_backward(std::function<void(int bucket)> hook) final { after_backward_ = std::move(hook); }
  void begin_at(std::int64_t step) final { steps_ = static_cast<std::uint64_t>(step); }
  std::int64_t repeated_steps() const final { return repeated_; }
  EvaluationResult evaluate(std::span<const std::byte> records) final;

 protected:
  FlatLearner(const LearnerSetting& setting, ModelDescription description, ComputeDevice& compute_device);

  /// Called before train, and before its repetition. `random`: of this replica and step.
  virtual void begin_pass(Rng random) = 0;
  /// Mean loss of a training step; keeps what differentiate needs.
  virtual at::Tensor train(const at::Tensor& pixels, const at::Tensor& labels) = 0;
  /// Mean loss of a batch, for `train`.
  at::Tensor loss_of(const at::Tensor& outputs, const at::Tensor& labels);
  /// Writes the gradients of a bucket's trained tensors into their windows. Called in the order of buckets
  /// after train.
  virtual void differentiate(int bucket) = 0;
  /// Releases what a train that has failed keeps; the model's statistics are restored afterwards.
  virtual void drop_pass() = 0;
  /// Whether a pass that lacks memory may be computed once more.
  bool may_try_twice() const { return !compute_device_.is_host(); }
  /// Does `work`, and once more if it lacks memory, or may lack it, after what libtorch keeps for later
  /// tensors has been freed. Pre: work that fails leaves what it needs.
  /// `undo` releases and restores what the first attempt left behind. Only libtorch's own allocations look in
  /// the memory that it keeps, not those of its libraries.
  void try_twice(const std::function<void()>& work, const std::function<void()>& undo = [] {});
  /// Copies gradients to their windows, by one operation of the device where it can order their channels.
  void copy_gradients(std::span<const at::Tensor> windows, std::span<const at::Tensor> gradients);
  /// Outputs in evaluation; called without autograd.
  virtual at::Tensor evaluate_pixels(const at::Tensor& pixels) = 0;

  const TorchMode& mode() const { return mode_; }
  at::Device device() const { return mode_.device; }
  /// Pre: as many values as elements.
  void begin_with(std::span<const float> values);
  /// The memory of a tensor and of its gradient. By address rather than as views of one tensor: views share
  /// one version counter, so autograd would mistake the change of a running statistic for a change of the
  /// weights.
  at::Tensor window_of_model(const TensorDescription& tensor) const { return window(model_, tensor); }
  at::Tensor window_of_gradient(const TensorDescription& tensor) const { return window(gradient_, tensor); }

 private:
  int buckets() const { return static_cast<int>(description_.buckets.size()); }
  bool backward_is_running() const { return next_bucket_ >= 0 && next_bucket_ < buckets(); }
  at::Tensor window(const FloatArray& flat, const TensorDescription& tensor) const;
  /// The step of one batch size as graphs: the forward pass, then the backward pass of each bucket.
  struct RecordedStep {
    std::int64_t samples;
    std::unique_ptr<StepGraphs> graphs;
    Batch batch;  ///< that is read
    at::Tensor loss = {};
    at::Tensor sample_losses = {};  ///< where they are kept
  };

  template <class Work>
  void within_memory(std::int64_t images, const Work& work) const;
  template <class Work>
  void compute(std::int64_t images, const Work& work);
  void wait_for_device() const;
  Rng random_of_step() const { return Rng::stream(random_seed_, "step", steps_); }
  void compute_forward();
  void repeat_forward();
  bool repeats_step();
  void record_step();
  void record_pieces(RecordedStep& step);
  void plan_copies_of_statistics();
  void keep_loss(const at::Tensor& loss);
  void calculate(int bucket);
  void calculate_gradients(int bucket);
  OwnedMark calculate_to_mark(int bucket);
  at::Tensor scaled(const at::Tensor& pixels) const;

  LearnerSetting setting_;
  ModelDescription description_;
  ComputeDevice& compute_device_;
  TorchMode mode_;
  FloatArray model_;
  FloatArray gradient_;
  BatchLoader batches_;
  BatchLoader evaluated_;
  std::function<void(int bucket)> after_backward_;
  std::uint64_t random_seed_;
  std::uint64_t steps_ = 0;         ///< forwards so far
  int next_bucket_ = -1;            ///< the next bucket of backward; -1 before the first forward
  int calculated_ = 0;              ///< buckets whose backward has been queued
  OwnedMark ahead_;                 ///< end of the last queued backward, if its bucket was not requested yet
  at::Tensor loss_;                 ///< of the last forward
  PinnedArray<std::byte> fetched_;  ///< the same, copied by the queue; empty on the host
  OwnedMark fetching_;
  FloatArray statistics_;                   ///< as before the last forward; empty on the host
  std::vector<FloatCopy> statistics_out_;   ///< from the model to there
  std::vector<FloatCopy> statistics_back_;  ///< from there to the model
  std::optional<RecordedStep> recorded_;
  bool is_repeating_ = false;          ///< this step is queued from `recorded_`
  std::int64_t repeated_ = 0;          ///< steps
  std::int64_t last_samples_ = 0;      ///< of the last step that was not repeated
  int alike_ = 0;                      ///< steps of so many samples in a row that were not repeated
  std::vector<float> weights_;         ///< of the loaded batch; empty: all are 1
  at::Tensor sample_losses_;           ///< of the last forward, where they are kept
  std::vector<float> fetched_losses_;  ///< the same on the host
};

}  // namespace tandem
