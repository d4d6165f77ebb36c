// Applies the layers of a model definition to activations with libtorch. Keeps no state between
// batches.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "workloads/model/definition.hpp"

namespace tandem {

class Network {
 public:
  /// `tensors`: those of the plan, in its order. `dropout`: draws the values that training omits, and the
  /// shares of mixed branches, on a processor (a GPU uses libtorch's own generator); null in evaluation. Both
  /// must outlive the network.
  Network(const std::vector<at::Tensor>& tensors, Rng* dropout) : tensors_(tensors), dropout_(dropout) {}

  at::Tensor run(const std::vector<Layer>& layers, at::Tensor x) const;

 private:
  at::Tensor apply(const Convolution& convolution, const at::Tensor* tensor, const at::Tensor& x) const;
  at::Tensor apply(const Linear&, const at::Tensor* tensor, const at::Tensor& x) const;
  at::Tensor apply(const BatchNorm& norm, const at::Tensor* tensor, const at::Tensor& x) const;
  at::Tensor apply(const Relu&, const at::Tensor*, const at::Tensor& x) const { return at::relu(x); }
  at::Tensor apply(const Relu6&, const at::Tensor*, const at::Tensor& x) const {
    return at::hardtanh(x, 0.0, 6.0);
  }
  at::Tensor apply(const MaxPool& pool, const at::Tensor*, const at::Tensor& x) const {
    return at::max_pool2d(x, pool.size, pool.stride, pool.padding);
  }
  at::Tensor apply(const AveragePool& pool, const at::Tensor*, const at::Tensor& x) const {
    return at::avg_pool2d(x, pool.size, pool.stride, pool.padding);
  }
  at::Tensor apply(const AdaptiveAveragePool& pool, const at::Tensor*, const at::Tensor& x) const {
    // A mean over single values is the value; libtorch's kernel on GPUs is neither fast nor deterministic.
    if (x.size(2) == pool.outputs && x.size(3) == pool.outputs) return x;
    return at::adaptive_avg_pool2d(x, {pool.outputs, pool.outputs});
  }
  at::Tensor apply(const GlobalAveragePool&, const at::Tensor*, const at::Tensor& x) const {
    return at::mean(x, {2, 3}, /*keepdim=*/true);
  }
  at::Tensor apply(const Flatten&, const at::Tensor*, const at::Tensor& x) const { return x.flatten(1); }
  at::Tensor apply(const Dropout& dropout, const at::Tensor*, const at::Tensor& x) const;
  at::Tensor apply(const PadChannels& pad, const at::Tensor*, const at::Tensor& x) const;
  at::Tensor apply(const Residual& residual, const at::Tensor*, const at::Tensor& x) const;
  at::Tensor apply(const Branches& branches, const at::Tensor*, const at::Tensor& x) const;
  at::Tensor apply(const Shift&, const at::Tensor*, const at::Tensor& x) const {
    return at::constant_pad_nd(x, {-1, 1, -1, 1});
  }
  at::Tensor apply(const Shake& shake, const at::Tensor*, const at::Tensor& x) const;
  /// For each sample of x a random number between 0 and 1.
  at::Tensor shares_for(const at::Tensor& x) const;

  const std::vector<at::Tensor>& tensors_;
  Rng* dropout_;
};

}  // namespace tandem
