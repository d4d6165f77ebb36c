// Works out what a model definition means for given images: every tensor and its place in the flat layout,
// the buckets, the flops, and the initial values. Pure arithmetic; knows no libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/learner/learner.hpp"
#include "workloads/learner/model_definition.hpp"

namespace tandem {

/// How a tensor begins: `centre` plus a uniform number in [-spread, spread).
struct InitialValue {
  float centre = 0.0F;
  float spread = 0.0F;
};

struct ModelPlan {
  ModelDescription description;
  std::vector<Segment> segments;               ///< forward order; every layer knows its first tensor
  std::vector<int> bucket_of_segment;          ///< by segment
  std::vector<std::size_t> segment_of_tensor;  ///< by tensor of the description
  std::vector<InitialValue> initial_values;    ///< by tensor of the description
};

/// Errors: ConfigError for an unknown model or images that it cannot take.
ModelPlan plan_model(const LearnerSetting& setting);

/// The flat model of a seed. Depends on the seed and each tensor's position in the model alone, not on
/// buckets.
std::vector<float> initial_model(const ModelPlan& plan, std::uint64_t seed);

}  // namespace tandem
