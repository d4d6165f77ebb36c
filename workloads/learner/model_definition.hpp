// The models, each written down once as plain data: segments of layers in forward order. Everything else
// about a model - tensors, sizes, flops, the network that computes - is derived from here. Knows no libtorch.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tandem {

struct Layer;

/// Square kernel; as many input channels as arrive.
struct Convolution {
  std::int64_t outputs;
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool bias = true;
};
/// Fully connected, with bias; as many inputs as arrive.
struct Linear {
  std::int64_t outputs;
};
/// Batch normalisation per channel with scale, shift and running statistics. Source: Ioffe and Szegedy
/// (2015).
struct BatchNorm {};
struct Relu {};
/// Stride equal to its size.
struct MaxPool {
  std::int64_t size;
};
/// Mean over height and width; leaves one value a channel.
struct GlobalAveragePool {};
struct Flatten {};
/// relu(body(x) + shortcut(x)); an empty shortcut is the identity. Source: He et al. (2016).
struct Residual {
  std::vector<Layer> body;
  std::vector<Layer> shortcut;
};

struct Layer {
  std::string
      name;  ///< prefix of its tensors' names, as torchvision has them; empty for layers without tensors
  std::variant<Convolution, Linear, BatchNorm, Relu, MaxPool, GlobalAveragePool, Flatten, Residual> operation;
  int first_tensor = -1;  ///< index of its first tensor in the plan; set by plan_model
};

/// The smallest stretch that backward can stop after: buckets are made of whole segments.
struct Segment {
  std::vector<Layer> layers;
};

/// Segments of a model of model_catalog() that tells `classes` classes apart.
/// Errors: ConfigError for an unknown model.
std::vector<Segment> define_model(const std::string& model, std::int64_t classes);

}  // namespace tandem
