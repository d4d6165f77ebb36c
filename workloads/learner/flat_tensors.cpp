#include "workloads/learner/flat_tensors.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/torch_mode.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

FlatTensors::FlatTensors(ModelDescription description, ComputeDevice& compute_device, at::Device device)
    : description_(std::move(description)),
      compute_device_(compute_device),
      device_(device),
      model_(compute_device, static_cast<std::size_t>(description_.elements())),
      gradient_(compute_device, static_cast<std::size_t>(description_.elements())) {
  if (!compute_device.is_host()) plan_copies_of_statistics();
}

void FlatTensors::plan_copies_of_statistics() {
  std::int64_t all = 0;
  for (const BucketDescription& bucket : description_.buckets) all += bucket.statistics;
  statistics_ = FloatArray(compute_device_, static_cast<std::size_t>(all));
  float* kept = statistics_.data();
  for (const BucketDescription& bucket : description_.buckets) {
    if (bucket.statistics == 0) continue;
    float* const own = model_.data() + bucket.offset + bucket.parameters;
    statistics_out_.push_back({kept, own, bucket.statistics});
    statistics_back_.push_back({own, kept, bucket.statistics});
    kept += bucket.statistics;
  }
}

void FlatTensors::begin_with(std::span<const float> values) {
  TANDEM_CHECK(values.size() == model_.size(), values.size(), model_.size());
  copy_and_await(compute_device_, model_.data(), values.data(), values.size_bytes());
}

void FlatTensors::hand_out_statistics(int bucket) {
  const auto& part = description_.buckets[static_cast<std::size_t>(bucket)];
  const auto begin = part.offset + part.parameters;
  const auto statistics = [&](const FloatArray& flat) {
    return tensor_over(flat.data() + begin, {part.statistics}, at::kFloat, device_);
  };
  statistics(gradient_).copy_(statistics(model_));
}

at::Tensor FlatTensors::window(const FloatArray& flat, const TensorDescription& tensor) const {
  return tensor_over(flat.data() + tensor.offset, tensor.shape, at::kFloat, device_);
}

}  // namespace tandem
