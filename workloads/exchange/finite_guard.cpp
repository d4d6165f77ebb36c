#include "workloads/exchange/finite_guard.hpp"

#include <cmath>
#include <cstdint>

namespace tandem {
namespace {

/// The tensor of an element of the flat layout; empty for a model without tensors.
std::string tensor_at(const ModelDescription& model, std::int64_t element) {
  for (const auto& tensor : model.tensors)
    if (element >= tensor.offset && element < tensor.offset + tensor.elements()) return tensor.name;
  return "";
}

}  // namespace

FiniteGuard::FiniteGuard(const ModelDescription& model, OnNonFinite setting, ComputeDevice& device)
    : model_(model),
      device_(device),
      looks_(setting != OnNonFinite::ignore),
      skips_(setting == OnNonFinite::skip) {}

void FiniteGuard::begin(std::span<const float> model) {
  non_finite_.reset();
  if (!looks_) return;
  const std::size_t buckets = model_.buckets.size();
  if (first_non_finite_.empty()) first_non_finite_ = PinnedArray<std::int64_t>(device_, buckets);
  if (!skips_) return;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const BucketDescription& extent = model_.buckets[bucket];
    if (statistics_.size() == bucket)
      statistics_.emplace_back(device_, static_cast<std::size_t>(extent.statistics));
    device_.copy(statistics_[bucket].data(), model.data() + extent.offset + extent.parameters,
                 statistics_[bucket].bytes());
  }
}

void FiniteGuard::inspect(int bucket, std::span<const float> gradient) {
  if (!looks_) return;
  const auto index = static_cast<std::size_t>(bucket);
  const BucketDescription& extent = model_.buckets[index];
  device_.find_non_finite(gradient.data() + extent.offset, extent.elements(),
                          first_non_finite_.data() + index);
}

void FiniteGuard::conclude(int bucket, double loss, std::span<float> model, std::span<float> gradient) {
  if (!looks_) return;
  const auto index = static_cast<std::size_t>(bucket);
  if (!non_finite_) non_finite_ = non_finite_in(index, loss);
  if (non_finite_ && skips_) skip_bucket(index, model, gradient);
}

std::optional<std::string> FiniteGuard::non_finite_in(std::size_t bucket, double loss) const {
  const BucketDescription& extent = model_.buckets[bucket];
  const std::int64_t first = first_non_finite_.data()[bucket];
  if (first < extent.elements()) return "the gradient of '" + tensor_at(model_, extent.offset + first) + "'";
  return std::isfinite(loss) ? std::nullopt : std::optional<std::string>("the loss");
}

/// Waits until it is done, because the bucket may be sent immediately afterwards.
void FiniteGuard::skip_bucket(std::size_t bucket, std::span<float> model, std::span<float> gradient) {
  for (std::size_t each = 0; each < statistics_.size(); ++each) put_back(each, model);
  const BucketDescription& extent = model_.buckets[bucket];
  device_.fill(gradient.data() + extent.offset, extent.parameters, 0.0F);
  put_back(bucket, gradient);
  device_.finish();
}

void FiniteGuard::put_back(std::size_t bucket, std::span<float> flat) {
  const BucketDescription& extent = model_.buckets[bucket];
  device_.copy(flat.data() + extent.offset + extent.parameters, statistics_[bucket].data(),
               statistics_[bucket].bytes());
}

}  // namespace tandem
