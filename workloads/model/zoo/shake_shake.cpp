// Shake-Shake networks for small images: residual blocks whose two branches are mixed at random.
#include "workloads/model/zoo/models.hpp"

namespace tandem::models {
namespace {

constexpr std::int64_t first_outputs = 16;

Convolution convolution(std::int64_t outputs, std::int64_t kernel, std::int64_t stride = 1) {
  return {.outputs = outputs, .kernel = kernel, .stride = stride, .padding = kernel / 2};
}

Layers branch(const std::string& name, std::int64_t width, std::int64_t stride) {
  return {{"", Relu{}}, {name + ".conv1", convolution(width, 3, stride)}, {name + ".bn1", BatchNorm{}},
          {"", Relu{}}, {name + ".conv2", convolution(width, 3)},         {name + ".bn2", BatchNorm{}}};
}

/// Half the channels come from every `stride`-th point, the others from the points next to these.
Layers skip(const std::string& name, std::int64_t width, std::int64_t stride) {
  const auto half = [&](const std::string& path, Layers layers) {
    if (stride > 1) layers.push_back({"", AveragePool{.size = 1, .stride = stride}});
    layers.push_back({name + path, convolution(width / 2, 1)});
    return layers;
  };
  return {{"", Branches{{half(".path1", {}), half(".path2", {{"", Shift{}}})}}}, {name + ".bn", BatchNorm{}}};
}

}  // namespace

/// Three stages of equally many blocks, with `hidden` filters, twice and four times as many.
Segments shake_shake(const DatasetInfo& images, const Options& options) {
  const std::int64_t hidden = options.integer("hidden"), depth = options.integer("depth");
  if (hidden % 16 != 0) throw OptionError("model 'shake-shake'", "hidden", "a multiple of 16", hidden);
  if ((depth - 2) % 6 != 0)
    throw OptionError("model 'shake-shake'", "depth", "2 more than a multiple of 6, such as 26", depth);
  Segments segments = {{{{"conv1", convolution(first_outputs, 3)}, {"bn1", BatchNorm{}}}}};
  std::int64_t inputs = first_outputs;
  for (int stage = 0; stage < 3; ++stage)
    for (std::int64_t index = 0; index < (depth - 2) / 6; ++index) {
      const std::int64_t width = hidden << stage, stride = stage > 0 && index == 0 ? 2 : 1;
      const std::string name = "layer" + std::to_string(stage + 1) + '.' + std::to_string(index);
      Shake block{.first = branch(name + ".branch1", width, stride),
                  .second = branch(name + ".branch2", width, stride),
                  .shortcut = {}};
      if (inputs != width) block.shortcut = skip(name + ".skip", width, stride);
      segments.push_back({{{"", std::move(block)}}});
      inputs = width;
    }
  segments.push_back(
      {{{"", Relu{}}, {"", GlobalAveragePool{}}, {"", Flatten{}}, {"fc", Linear{images.classes}}}});
  return segments;
}

}  // namespace tandem::models
