// Helpers for tests of learners: learners on the host, complete forward and backward passes, and single
// tensors of flat vectors.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "workloads/learner/learner.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

inline std::unique_ptr<Learner> make_learner(const LearnerSetting& setting) {
  return make_learner(setting, host_device());
}

/// The loss of a forward over the loaded batch.
inline double loss_of_forward(Learner& learner) {
  learner.forward();
  return learner.loss();
}

/// Forward and backward of all buckets; returns the loss.
inline double differentiate(Learner& learner, std::span<const std::byte> records) {
  learner.load(records);
  const double loss = loss_of_forward(learner);
  for (int bucket = 0; bucket < static_cast<int>(learner.description().buckets.size()); ++bucket)
    learner.backward(bucket);
  return loss;
}

inline std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

/// The part of a flat vector that belongs to one tensor.
inline at::Tensor window(std::span<float> flat, const TensorDescription& tensor) {
  return torch::from_blob(flat.data() + tensor.offset, tensor.shape);
}

}  // namespace tandem
