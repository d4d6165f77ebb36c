// Plans a model definition for given images: every tensor and its position in the flat layout, the buckets,
// the flops, and the initial values. Pure arithmetic without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/model/catalog.hpp"
#include "workloads/model/definition.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// Initial values of a tensor: `centre` plus a uniform number in [-spread, spread).
struct InitialValue {
  float centre = 0.0F;
  float spread = 0.0F;
};

enum class LayerKind : std::uint8_t {
  convolution,
  grouped_convolution,
  linear,
  normalisation,
  activation,
  pooling,
  sum,
  copy  ///< padding, shifting and concatenation
};

/// What a layer computes, of one sample. Of a block, the sum or the concatenation at its end.
struct LayerWork {
  LayerKind kind;
  std::int64_t inputs;      ///< elements that it reads, besides parameters
  std::int64_t outputs;     ///< elements
  std::int64_t parameters;  ///< trained elements of its own
  Flops forward;
  Flops backward;
};

struct ModelPlan {
  ModelDescription description;
  std::vector<LayerWork> work;                 ///< in the order in which layers are computed
  std::vector<Segment> segments;               ///< forward order; every layer knows its first tensor
  std::vector<int> bucket_of_segment;          ///< by segment
  std::vector<std::size_t> segment_of_tensor;  ///< by tensor of the description
  std::vector<InitialValue> initial_values;    ///< by tensor of the description
};

/// The part of one segment in its bucket: tensors [first, last) of the description, and its flops.
struct SegmentShare {
  std::size_t first;
  std::size_t last;
  Flops forward;
  Flops backward;
};
/// Collects segments (in forward order) from the last one on into buckets of at least the wanted size, and
/// gives every tensor its position. Returns the bucket of each segment.
std::vector<int> cut_into_buckets(ModelDescription& description, const std::vector<SegmentShare>& shares,
                                  const BucketSizes& wanted);

/// Errors: ConfigError for an unknown model or unsupported images.
ModelPlan plan_model(const LearnerSetting& setting);

/// The flat model of a seed. Depends on the seed and each tensor's position in the model alone, not on
/// buckets.
std::vector<float> initial_model(const ModelPlan& plan, std::uint64_t seed);

}  // namespace tandem
