// What tests of learners look at: a whole differentiation, and single tensors of flat vectors.
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// Forward and backward of all buckets; returns the loss.
inline double differentiate(Learner& learner, std::span<const std::byte> records) {
  learner.load(records);
  const double loss = learner.forward();
  for (int bucket = 0; bucket < static_cast<int>(learner.description().buckets.size()); ++bucket)
    learner.backward(bucket);
  return loss;
}

inline std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

/// The window of a flat vector that one tensor has.
inline at::Tensor window(std::span<float> flat, const TensorDescription& tensor) {
  return torch::from_blob(flat.data() + tensor.offset, tensor.shape);
}

}  // namespace tandem
