#include "workloads/learner/channels_last.hpp"

#include "workloads/learner/torch_mode.hpp"

namespace tandem {
namespace {

constexpr auto channels_last = at::MemoryFormat::ChannelsLast;

/// Of each filter, in a weight of (filters, channels, rows, columns).
std::int64_t channels_of(const at::Tensor& weight) { return weight.size(1); }
std::int64_t places_of(const at::Tensor& weight) { return weight.size(2) * weight.size(3); }

}  // namespace

at::Tensor ChannelsLastCopies::of(const at::Tensor& window) {
  if (window.dim() != 4 || window.is_contiguous(channels_last)) return window;
  FloatArray& memory = memory_.emplace_back(compute_device_, static_cast<std::size_t>(window.numel()));
  refreshing_.push_back({.to = memory.data(),
                         .from = window.data_ptr<float>(),
                         .count = window.numel(),
                         .rows = channels_of(window),
                         .columns = places_of(window)});
  return tensor_over(memory.data(), {window.size(0), window.size(2), window.size(3), window.size(1)},
                     at::kFloat, window.device())
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
