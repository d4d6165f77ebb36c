// The loss of a training step: computed from a network's outputs with the weights of its samples, and copied
// from the device.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/learner/torch_runner.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

class StepLoss {
 public:
  /// `runner` must outlive this.
  explicit StepLoss(const TorchRunner& runner);
  StepLoss(const StepLoss&) = delete;
  StepLoss& operator=(const StepLoss&) = delete;
  ~StepLoss();

  /// Factors on the losses of the loaded batch's samples; none: all are 1.
  void weigh(std::span<const float> weights) { weights_.assign(weights.begin(), weights.end()); }
  bool has_weights() const { return !weights_.empty(); }
  /// Mean loss of a batch, whose gradient is that of the sum if the learner sums gradients. Also keeps the
  /// losses of its samples, if the learner does.
  at::Tensor of(const at::Tensor& outputs, const at::Tensor& labels);
  /// The losses of samples on the device; undefined if none are kept.
  const at::Tensor& of_samples() const { return of_samples_; }
  /// Queues the copy of a step's mean loss, for value().
  void keep(const at::Tensor& loss);
  /// The same for a step whose losses are in these tensors.
  void keep(const at::Tensor& loss, const at::Tensor& of_samples) {
    of_samples_ = of_samples;
    keep(loss);
  }
  /// The mean loss; waits for it. Pre: one is kept.
  double value();
  /// The losses of samples; waits for them. Valid until the next call. Pre: they are kept.
  std::span<const float> values_of_samples();

 private:
  at::Tensor mean_of(const at::Tensor& outputs, const at::Tensor& labels);

  const TorchRunner& runner_;
  std::vector<float> weights_;
  at::Tensor mean_;                 ///< of the last step
  PinnedArray<std::byte> fetched_;  ///< the same, copied by the queue; empty on the host
  OwnedMark fetching_;
  at::Tensor of_samples_;                  ///< of the last step
  std::vector<float> fetched_of_samples_;  ///< the same on the host
};

}  // namespace tandem
