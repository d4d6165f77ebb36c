// What every learner on libtorch does alike: flat model and gradient, batches, the order of buckets, and
// evaluation. The network itself is a derived class's.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/torch_learner.hpp"

namespace tandem {

/// Keeps libtorch to the thread that calls it, in the whole process. Before its first computation.
void use_one_thread();

struct Batch {
  at::Tensor pixels;
  at::Tensor labels;
};

/// Turns records into normalised pixels and labels.
class Decoder {
 public:
  explicit Decoder(const DatasetInfo& info);
  std::size_t record_bytes() const { return static_cast<std::size_t>(info_.record_bytes().count()); }
  /// Reuses the batch's memory when it has the right size.
  void decode(std::span<const std::byte> records, Batch& batch) const;

 private:
  DatasetInfo info_;
  std::array<float, 256> scaled_{};
};

class FlatLearner : public Learner {
 public:
  const ModelDescription& description() const final { return description_; }
  std::span<float> model() final { return span_of(host_model_); }
  std::span<float> gradient() final { return span_of(gradient_); }

  void load(std::span<const std::byte> records) final;
  double forward() final;
  void backward(int bucket) final;
  void begin_at(std::int64_t step) final { steps_ = static_cast<std::uint64_t>(step); }
  EvaluationResult evaluate(std::span<const std::byte> records) final;

 protected:
  FlatLearner(const LearnerSetting& setting, ModelDescription description, ModelPlace place);

  /// Mean loss of a training step, with what differentiate needs of it. `random`: of this replica and step.
  virtual at::Tensor train(const at::Tensor& pixels, const at::Tensor& labels, Rng random) = 0;
  /// Gradients of a bucket's trained tensors into their windows. In the order of buckets after train.
  virtual void differentiate(int bucket) = 0;
  /// Outputs in evaluation; called without autograd.
  virtual at::Tensor evaluate_pixels(const at::Tensor& pixels) = 0;

  at::Device device() const { return device_; }
  /// Where a tensor lives in what the network computes with, and where its gradient does.
  at::Tensor window_of_model(const TensorDescription& tensor) const { return window(model_, tensor); }
  at::Tensor window_of_gradient(const TensorDescription& tensor) const { return window(gradient_, tensor); }

 private:
  static std::span<float> span_of(const at::Tensor& flat);
  static at::Tensor window(const at::Tensor& flat, const TensorDescription& tensor);
  at::Tensor statistics_of(const at::Tensor& flat, std::size_t bucket) const;
  bool is_apart() const { return !model_.is_same(host_model_); }
  at::Tensor pixels_of(const Batch& batch) const;
  void refresh_model();
  void return_statistics();

  ModelDescription description_;
  Decoder decoder_;
  std::int64_t image_size_;
  at::Device device_;
  at::Tensor host_model_;  ///< flat, what model() shows
  at::Tensor gradient_;    ///< flat, in host memory
  at::Tensor model_;       ///< flat, what the network computes with; host_model_ unless apart
  Batch batch_;
  std::uint64_t random_seed_;
  std::uint64_t steps_ = 0;  ///< forwards so far
  int next_bucket_ = -1;     ///< whose turn backward is; -1 before the first forward
};

}  // namespace tandem
