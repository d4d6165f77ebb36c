#include "workloads/learner/network_copies.hpp"

#include <cstdint>

#include "workloads/learner/torch_mode.hpp"

namespace tandem {
namespace {

constexpr auto channels_last = at::MemoryFormat::ChannelsLast;

bool is_aligned(const float* values) { return reinterpret_cast<std::uintptr_t>(values) % 16 == 0; }

/// The channels of each filter, in a weight of (filters, channels, rows, columns).
std::int64_t channels_of(const at::Tensor& weight) { return weight.size(1); }
std::int64_t places_of(const at::Tensor& weight) { return weight.size(2) * weight.size(3); }

}  // namespace

float* NetworkCopies::memory_for(const at::Tensor& window) {
  return memory_.emplace_back(compute_device_, static_cast<std::size_t>(window.numel())).data();
}

at::Tensor NetworkCopies::of(const at::Tensor& window, bool changes) {
  float* const own = window.data_ptr<float>();
  if (window.dim() == 1 && !is_aligned(own)) {
    float* const copy = memory_for(window);
    refreshing_.push_back({.to = copy, .from = own, .count = window.numel()});
    if (changes) giving_back_.push_back({.to = own, .from = copy, .count = window.numel()});
    return tensor_over(copy, window.sizes(), at::kFloat, window.device());
  }
  if (!adjacent_channels_ || window.dim() != 4 || window.is_contiguous(channels_last)) return window;
  float* const copy = memory_for(window);
  refreshing_.push_back({.to = copy,
                         .from = own,
                         .count = window.numel(),
                         .rows = channels_of(window),
                         .columns = places_of(window)});
  return tensor_over(copy, {window.size(0), window.size(2), window.size(3), window.size(1)}, at::kFloat,
                     window.device())
      .permute({0, 3, 1, 2});
}

std::optional<FloatCopy> copy_into_window(const at::Tensor& window, const at::Tensor& gradient) {
  if (gradient.scalar_type() != at::kFloat || gradient.device() != window.device()) return std::nullopt;
  FloatCopy copy{
      .to = window.data_ptr<float>(), .from = gradient.data_ptr<float>(), .count = gradient.numel()};
  if (gradient.is_contiguous()) return copy;
  if (gradient.dim() != 4 || !gradient.is_contiguous(channels_last)) return std::nullopt;
  copy.rows = places_of(gradient);
  copy.columns = channels_of(gradient);
  return copy;
}

}  // namespace tandem
