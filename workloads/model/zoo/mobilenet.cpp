// MobileNets: depthwise convolutions between 1x1 ones, plain (version 1) and in inverted bottlenecks with
// linear ends (version 2).
#include "workloads/model/zoo/models.hpp"

namespace tandem::models {
namespace {

Convolution pointwise(std::int64_t outputs) { return {.outputs = outputs, .kernel = 1, .bias = false}; }

/// Each channel separately.
Convolution depthwise(std::int64_t channels, std::int64_t stride) {
  return {
      .outputs = channels, .kernel = 3, .stride = stride, .padding = 1, .bias = false, .groups = channels};
}

/// Layers "<name>.0" and "<name>.1".
template <class Rectifier>
Layers normalised(const std::string& name, const Convolution& convolution, Rectifier rectifier) {
  return {{name + ".0", convolution}, {name + ".1", BatchNorm{}}, {"", rectifier}};
}

Convolution first_convolution() {
  return {.outputs = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false};
}

std::string feature(std::size_t index) { return "features." + std::to_string(index); }

/// Widens the channels, convolves each separately, and narrows them again without ReLU. Adds the input if it
/// has the same shape. Source: Sandler et al. (2018), table 1.
Segment inverted_bottleneck(const std::string& name, std::int64_t inputs, std::int64_t outputs,
                            std::int64_t stride, std::int64_t expansion) {
  const std::int64_t width = inputs * expansion;
  Layers layers;
  int index = 0;
  const auto next = [&] { return name + ".conv." + std::to_string(index++); };
  if (expansion > 1) append(layers, normalised(next(), pointwise(width), Relu6{}));
  append(layers, normalised(next(), depthwise(width, stride), Relu6{}));
  layers.push_back({next(), pointwise(outputs)});
  layers.push_back({next(), BatchNorm{}});
  if (stride > 1 || inputs != outputs) return {std::move(layers)};
  return {{{"", Residual{.body = std::move(layers), .shortcut = {}, .rectified = false}}}};
}

}  // namespace

/// Source: Howard et al. (2017), table 1; the last stride is 1, otherwise the table's sizes do not fit.
Segments mobilenet_v1(const DatasetInfo& images) {
  struct Block {
    std::int64_t outputs;
    std::int64_t stride;
  };
  constexpr Block blocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                              {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  Segments segments = {{normalised(feature(0), first_convolution(), Relu{})}};
  std::int64_t inputs = 32;
  for (const auto& block : blocks) {
    const std::string name = feature(segments.size());
    Layers layers = normalised(name + ".depthwise", depthwise(inputs, block.stride), Relu{});
    append(layers, normalised(name + ".pointwise", pointwise(block.outputs), Relu{}));
    segments.push_back({std::move(layers)});
    inputs = block.outputs;
  }
  segments.push_back({{{"", GlobalAveragePool{}}, {"", Flatten{}}, {"classifier", Linear{images.classes}}}});
  return segments;
}

/// Source: Sandler et al. (2018), table 2.
Segments mobilenet_v2(const DatasetInfo& images) {
  struct Stage {
    std::int64_t expansion;
    std::int64_t outputs;
    int blocks;
    std::int64_t stride;  ///< of the first block
  };
  constexpr Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  Segments segments = {{normalised(feature(0), first_convolution(), Relu6{})}};
  std::int64_t inputs = 32;
  for (const auto& stage : stages)
    for (int block = 0; block < stage.blocks; ++block) {
      segments.push_back(inverted_bottleneck(feature(segments.size()), inputs, stage.outputs,
                                             block == 0 ? stage.stride : 1, stage.expansion));
      inputs = stage.outputs;
    }
  segments.push_back({normalised(feature(segments.size()), pointwise(1280), Relu6{})});
  segments.push_back({{{"", GlobalAveragePool{}},
                       {"", Flatten{}},
                       {"", Dropout{0.2}},
                       {"classifier.1", Linear{images.classes}}}});
  return segments;
}

}  // namespace tandem::models
