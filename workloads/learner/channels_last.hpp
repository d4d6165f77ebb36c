// Weights of convolutions for tensor cores, which need the channels of a weight adjacent. The flat model has
// them in PyTorch's usual order, so that messages and files mean the same with every device: the network gets
// copies, which one operation of the device brings up to date, instead of a conversion in every layer.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class ChannelsLastCopies {
 public:
  /// Pre: libtorch's device has the memory of `compute_device`.
  explicit ChannelsLastCopies(ComputeDevice& compute_device) : compute_device_(compute_device) {}

  /// The tensor through which the network uses a window of the model: a copy with adjacent channels, or the
  /// window itself where the order is the same, as with one channel, or one weight per channel.
  at::Tensor of(const at::Tensor& window);
  /// Queues the copies of all windows. To be called before the network uses them.
  void refresh() { compute_device_.copy_all(refreshing_); }

 private:
  ComputeDevice& compute_device_;
  std::vector<FloatArray> memory_;
  std::vector<FloatCopy> refreshing_;
};

/// The copy of a gradient of floats into its window of the flat gradient; none: libtorch has to convert it.
/// Pre: both are in the memory of one device, the window has PyTorch's usual order.
std::optional<FloatCopy> copy_into_window(const at::Tensor& window, const at::Tensor& gradient);

}  // namespace tandem
