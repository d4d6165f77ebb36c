// A learner's model and gradient: flat in the memory of a compute device, and as tensors in that memory.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <vector>

#include "workloads/model/description.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class FlatTensors {
 public:
  /// `device`: libtorch's name for `compute_device`, which must outlive this.
  FlatTensors(ModelDescription description, ComputeDevice& compute_device, at::Device device);

  const ModelDescription& description() const { return description_; }
  int buckets() const { return static_cast<int>(description_.buckets.size()); }
  std::span<float> model() { return model_.span(); }
  std::span<float> gradient() { return gradient_.span(); }
  /// Pre: as many values as elements.
  void begin_with(std::span<const float> values);
  /// The memory of a tensor and of its gradient. By address rather than as views of one tensor: views share
  /// one version counter, so autograd would mistake the change of a running statistic for a change of the
  /// weights.
  at::Tensor window_of_model(const TensorDescription& tensor) const { return window(model_, tensor); }
  at::Tensor window_of_gradient(const TensorDescription& tensor) const { return window(gradient_, tensor); }

  /// Copies the running statistics of a bucket to their places in the gradient.
  void hand_out_statistics(int bucket);
  /// Copies running statistics, before a pass changes them: a second attempt must begin with the old ones.
  /// Does nothing on the host, where there is no second attempt.
  void keep_statistics() { compute_device_.copy_all(statistics_out_); }
  void restore_statistics() { compute_device_.copy_all(statistics_back_); }

 private:
  at::Tensor window(const FloatArray& flat, const TensorDescription& tensor) const;
  void plan_copies_of_statistics();

  ModelDescription description_;
  ComputeDevice& compute_device_;
  at::Device device_;
  FloatArray model_;
  FloatArray gradient_;
  FloatArray statistics_;                   ///< the copies; empty on the host
  std::vector<FloatCopy> statistics_out_;   ///< from the model to the copies
  std::vector<FloatCopy> statistics_back_;  ///< from the copies to the model
};

}  // namespace tandem
