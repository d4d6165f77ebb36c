// Copies of a network's tensors in another form than in the flat model, for libraries of a GPU. Weights of
// convolutions have adjacent channels, for tensor cores. Vectors are in aligned memory, because cuDNN's
// normalisations read 16 bytes together. The flat model has PyTorch's usual order and no gaps, so that
// messages and files mean the same with every device. One operation of the device updates the copies,
// instead of a conversion in every layer.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class NetworkCopies {
 public:
  /// Pre: libtorch's device has the memory of `compute_device`. `adjacent_channels`: for tensor cores.
  NetworkCopies(ComputeDevice& compute_device, bool adjacent_channels)
      : compute_device_(compute_device), adjacent_channels_(adjacent_channels) {}

  /// The tensor through which the network uses a window of the model. It is a copy with adjacent channels or
  /// in aligned memory. It is the window itself if that has this form already, or if only one order exists
  /// (one channel, or one weight per channel). `changes`: the network changes it, as a running statistic.
  at::Tensor of(const at::Tensor& window, bool changes);
  /// Queues the copies of all windows. Call it before the network uses them.
  void refresh() { compute_device_.copy_all(refreshing_); }
  /// Queues the copies back to their windows of the tensors that the network changes. Call it after the
  /// network has changed them.
  void give_back() { compute_device_.copy_all(giving_back_); }

 private:
  float* memory_for(const at::Tensor& window);

  ComputeDevice& compute_device_;
  bool adjacent_channels_;
  std::vector<FloatArray> memory_;
  std::vector<FloatCopy> refreshing_;
  std::vector<FloatCopy> giving_back_;
};

/// The copy of a gradient of floats into its window of the flat gradient; none: libtorch has to convert it.
/// Pre: both are in the memory of one device, the window has PyTorch's usual order.
std::optional<FloatCopy> copy_into_window(const at::Tensor& window, const at::Tensor& gradient);

}  // namespace tandem
