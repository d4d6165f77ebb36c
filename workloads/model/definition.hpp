// The models, each defined once as plain data: segments of layers in forward order. Everything else about a
// model - tensors, sizes, flops, the network that computes - is derived from it. Does not use libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "workloads/data/dataset.hpp"

namespace tandem {

struct Layer;

/// Rows and columns; a single number means both.
struct Extent {
  std::int64_t height;
  std::int64_t width;
  constexpr Extent(std::int64_t both) : height(both), width(both) {}
  constexpr Extent(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
};

/// The number of input channels is that of the previous layer. Output group i reads input group i alone; as
/// many groups as channels make a depthwise convolution.
struct Convolution {
  std::int64_t outputs;
  Extent kernel;
  std::int64_t stride = 1;
  Extent padding = 0;
  bool bias = true;
  std::int64_t groups = 1;
  /// The gain of the initial weights, which are uniform within gain / sqrt(inputs of one output). PyTorch's
  /// gain is 1.
  double gain = 1.0;
};
/// Fully connected, with bias; the number of inputs is that of the previous layer.
struct Linear {
  std::int64_t outputs;
};
/// Batch normalisation per channel with scale, shift and running statistics. Source: Ioffe and Szegedy
/// (2015).
struct BatchNorm {
  double epsilon = 1e-5;
};
struct Relu {};
/// min(max(x, 0), 6). Source: Krizhevsky, "Convolutional deep belief networks on CIFAR-10" (2010).
struct Relu6 {};
/// Largest value of a square window.
struct MaxPool {
  std::int64_t size;
  std::int64_t stride = size;
  std::int64_t padding = 0;
};
/// Mean of a square window; padding counts as zeros.
struct AveragePool {
  std::int64_t size;
  std::int64_t stride = size;
  std::int64_t padding = 0;
};
/// Means over windows, so many that the output has these rows and columns for any input size.
struct AdaptiveAveragePool {
  std::int64_t outputs;
};
/// Mean over height and width; leaves one value per channel.
struct GlobalAveragePool {};
struct Flatten {};
/// In training sets each value to zero with this probability and scales the others up; does nothing in
/// evaluation. Source: Srivastava et al. (2014).
struct Dropout {
  double probability;
};
/// Keeps every `stride`-th row and column, and appends channels of zeros up to `outputs`. Source: He et al.
/// (2016), shortcut A.
struct PadChannels {
  std::int64_t outputs;
  std::int64_t stride;
};
/// body(x) + shortcut(x), then ReLU where `rectified`; an empty shortcut is the identity. Source: He et al.
/// (2016).
struct Residual {
  std::vector<Layer> body;
  std::vector<Layer> shortcut;
  bool rectified = true;
};
/// All branches have the same input; their channels are concatenated. Source: Szegedy et al. (2015).
struct Branches {
  std::vector<std::vector<Layer>> branches;
};
/// Drops the first row and column, and appends zeros as the last ones.
struct Shift {};
/// shortcut(x) + a first(x) + (1 - a) second(x); an empty shortcut is the identity. In training, a is drawn
/// for each sample between 0 and 1, and once more for the backward pass; in evaluation it is 1/2. Source:
/// Gastaldi, "Shake-Shake regularization" (2017), variant Shake-Shake-Image.
struct Shake {
  std::vector<Layer> first;
  std::vector<Layer> second;
  std::vector<Layer> shortcut;
};

struct Layer {
  std::string
      name;  ///< prefix of its tensors' names, as torchvision has them; empty for layers without tensors
  std::variant<Convolution, Linear, BatchNorm, Relu, Relu6, MaxPool, AveragePool, AdaptiveAveragePool,
               GlobalAveragePool, Flatten, Dropout, PadChannels, Residual, Branches, Shift, Shake>
      operation;
  int first_tensor = -1;  ///< index of its first tensor in the plan; set by plan_model
};

/// The smallest part after which the backward pass can stop: buckets are made of whole segments.
struct Segment {
  std::vector<Layer> layers;
};

/// Segments of a model of model_catalog() for such images and as many classes.
/// Errors: ConfigError for an unknown model, or options that it does not have.
std::vector<Segment> define_model(const std::string& model, const DatasetInfo& images);

}  // namespace tandem
