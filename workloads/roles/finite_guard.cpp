#include "workloads/roles/finite_guard.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tandem {
namespace {

/// Infinities and values that are no numbers have an exponent of ones only. Without branches, so that the
/// loop is vectorised.
bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t exponent = 0x7f800000U;
  std::uint32_t found = 0;
  for (const float value : values) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & exponent;
    found |= static_cast<std::uint32_t>(bits == exponent);
  }
  return found == 0;
}

/// The tensor of an element of the flat layout; empty for a model without tensors.
std::string tensor_at(const ModelDescription& model, std::int64_t element) {
  for (const auto& tensor : model.tensors)
    if (element >= tensor.offset && element < tensor.offset + tensor.elements()) return tensor.name;
  return "";
}

template <class Value>
std::span<Value> statistics_of(const BucketDescription& bucket, std::span<Value> flat) {
  return flat.subspan(static_cast<std::size_t>(bucket.offset + bucket.parameters),
                      static_cast<std::size_t>(bucket.statistics));
}

}  // namespace

FiniteGuard::FiniteGuard(const ModelDescription& model, const std::string& setting)
    : model_(model), looks_(setting != "ignore"), leaves_out_(setting == "skip") {}

void FiniteGuard::begin(std::span<const float> model) {
  flaw_.reset();
  if (!leaves_out_) return;
  statistics_.resize(model_.buckets.size());
  for (std::size_t bucket = 0; bucket < statistics_.size(); ++bucket) {
    const auto now = statistics_of(model_.buckets[bucket], model);
    statistics_[bucket].assign(now.begin(), now.end());
  }
}

void FiniteGuard::inspect(int bucket, double loss, std::span<float> model, std::span<float> gradient) {
  if (!looks_) return;
  if (!flaw_) flaw_ = flaw_in(model_.buckets[static_cast<std::size_t>(bucket)], loss, gradient);
  if (flaw_ && leaves_out_) leave_out(bucket, model, gradient);
}

std::optional<std::string> FiniteGuard::flaw_in(const BucketDescription& bucket, double loss,
                                                std::span<const float> gradient) const {
  const auto values =
      gradient.subspan(static_cast<std::size_t>(bucket.offset), static_cast<std::size_t>(bucket.elements()));
  if (all_finite(values)) return std::isfinite(loss) ? std::nullopt : std::optional<std::string>("the loss");
  const auto first = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  return "the gradient of '" + tensor_at(model_, bucket.offset + (first - values.begin())) + "'";
}

void FiniteGuard::leave_out(int bucket, std::span<float> model, std::span<float> gradient) const {
  for (std::size_t each = 0; each < statistics_.size(); ++each)
    std::copy(statistics_[each].begin(), statistics_[each].end(),
              statistics_of(model_.buckets[each], model).begin());
  const auto index = static_cast<std::size_t>(bucket);
  const BucketDescription& extent = model_.buckets[index];
  std::fill_n(gradient.begin() + extent.offset, extent.parameters, 0.0F);
  std::copy(statistics_[index].begin(), statistics_[index].end(), statistics_of(extent, gradient).begin());
}

}  // namespace tandem
