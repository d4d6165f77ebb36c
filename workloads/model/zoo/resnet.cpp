// Residual networks: versions 1 and 2 for photographs and for small images, and the narrow one for CIFAR-10.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "workloads/model/zoo/models.hpp"

namespace tandem::models {
namespace {

/// Images of at least this side are photographs, which the first layers reduce to a quarter of the side.
constexpr int photograph = 64;

Convolution convolution_1x1(std::int64_t outputs, std::int64_t stride = 1) {
  return {.outputs = outputs, .kernel = 1, .stride = stride, .bias = false};
}

Convolution convolution_3x3(std::int64_t outputs, std::int64_t stride = 1) {
  return {.outputs = outputs, .kernel = 3, .stride = stride, .padding = 1, .bias = false};
}

/// Two 3x3 convolutions.
Layers basic_body(const std::string& name, std::int64_t width, std::int64_t stride) {
  return {{name + ".conv1", convolution_3x3(width, stride)},
          {name + ".bn1", BatchNorm{}},
          {"", Relu{}},
          {name + ".conv2", convolution_3x3(width)},
          {name + ".bn2", BatchNorm{}}};
}

/// A later block of a stage: `width` is that of its 3x3 convolutions.
struct BlockPlace {
  std::string name;
  std::int64_t width;
  std::int64_t stride;
  bool first_stage;
  bool first_of_stage;
};

Layers projection(const BlockPlace& place, std::int64_t outputs) {
  return {{place.name + ".downsample.0", convolution_1x1(outputs, place.stride)},
          {place.name + ".downsample.1", BatchNorm{}}};
}

/// The shortcut is projected where the shape changes.
Layers basic_block(const BlockPlace& place) {
  Residual block{.body = basic_body(place.name, place.width, place.stride), .shortcut = {}};
  if (place.first_of_stage && !place.first_stage) block.shortcut = projection(place, place.width);
  return {{"", std::move(block)}};
}

/// 1x1, 3x3, and 1x1 to four times the width. The 3x3 has the stride, as in all later implementations.
Layers bottleneck(const BlockPlace& place) {
  const std::string& name = place.name;
  Residual block{.body = {{name + ".conv1", convolution_1x1(place.width)},
                          {name + ".bn1", BatchNorm{}},
                          {"", Relu{}},
                          {name + ".conv2", convolution_3x3(place.width, place.stride)},
                          {name + ".bn2", BatchNorm{}},
                          {"", Relu{}},
                          {name + ".conv3", convolution_1x1(4 * place.width)},
                          {name + ".bn3", BatchNorm{}}},
                 .shortcut = {}};
  if (place.first_of_stage) block.shortcut = projection(place, 4 * place.width);
  return {{"", std::move(block)}};
}

/// Normalisation and ReLU come before each convolution, and nothing after the sum. The shortcut of the first
/// block of a stage branches off behind the first of them. Source: He et al. (2016), "Identity mappings",
/// figure 4e.
Layers preactivated(const BlockPlace& place, Layers body, Layers shortcut) {
  Layers layers = {{place.name + ".bn1", BatchNorm{}}, {"", Relu{}}};
  if (!place.first_of_stage) {
    append(layers, std::move(body));
    return {{"", Residual{.body = std::move(layers), .shortcut = {}, .rectified = false}}};
  }
  layers.push_back(
      {"", Residual{.body = std::move(body), .shortcut = std::move(shortcut), .rectified = false}});
  return layers;
}

Layers preactivated_bottleneck(const BlockPlace& place) {
  const std::string& name = place.name;
  return preactivated(place,
                      {{name + ".conv1", convolution_1x1(place.width)},
                       {name + ".bn2", BatchNorm{}},
                       {"", Relu{}},
                       {name + ".conv2", convolution_3x3(place.width, place.stride)},
                       {name + ".bn3", BatchNorm{}},
                       {"", Relu{}},
                       {name + ".conv3", convolution_1x1(4 * place.width)}},
                      {{name + ".downsample", convolution_1x1(4 * place.width, place.stride)}});
}

Layers preactivated_basic(const BlockPlace& place) {
  const std::string& name = place.name;
  return preactivated(place,
                      {{name + ".conv1", convolution_3x3(place.width, place.stride)},
                       {name + ".bn2", BatchNorm{}},
                       {"", Relu{}},
                       {name + ".conv2", convolution_3x3(place.width)}},
                      projection(place, place.width));
}

bool are_small(const DatasetInfo& images) { return std::min(images.height, images.width) < photograph; }

Layer first_convolution(const DatasetInfo& images) {
  Convolution first = convolution_3x3(64);
  if (!are_small(images)) first = {.outputs = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false};
  return {"conv1", first};
}

/// `width`: of the first stage.
void add_stages(Segments& segments, std::span<const int> blocks, std::int64_t width,
                Layers (*block)(const BlockPlace&)) {
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int index = 0; index < blocks[stage]; ++index)
      segments.push_back({block({.name = "layer" + std::to_string(stage + 1) + '.' + std::to_string(index),
                                 .width = width << stage,
                                 .stride = stage > 0 && index == 0 ? 2 : 1,
                                 .first_stage = stage == 0,
                                 .first_of_stage = index == 0})});
}

Layers head(const DatasetInfo& images) {
  return {{"", GlobalAveragePool{}}, {"", Flatten{}}, {"fc", Linear{images.classes}}};
}

/// "2-3-3": the blocks of three stages.
std::array<int, 3> blocks_of(const std::string& text) {
  constexpr int most = 200;
  std::array<int, 3> blocks{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  bool is_good = true;
  for (std::size_t stage = 0; stage < blocks.size() && is_good; ++stage) {
    if (stage > 0) is_good = at != end && *at++ == '-';
    const auto [rest, error] = std::from_chars(at, end, blocks[stage]);
    at = rest;
    is_good = is_good && error == std::errc() && blocks[stage] >= 1 && blocks[stage] <= most;
  }
  if (!is_good || at != end)
    throw OptionError("model 'resnet-cifar'", "blocks", "three numbers from 1 to 200 such as 2-3-3", text);
  return blocks;
}

Segments resnet(const DatasetInfo& images, const std::array<int, 4>& blocks,
                Layers (*block)(const BlockPlace&)) {
  Segments segments = {{{first_convolution(images), {"bn1", BatchNorm{}}, {"", Relu{}}}}};
  if (!are_small(images)) segments.back().layers.push_back({"", MaxPool{3, 2, 1}});
  add_stages(segments, blocks, 64, block);
  segments.push_back({head(images)});
  return segments;
}

}  // namespace

Segments resnet18(const DatasetInfo& images) { return resnet(images, {2, 2, 2, 2}, basic_block); }
Segments resnet34(const DatasetInfo& images) { return resnet(images, {3, 4, 6, 3}, basic_block); }
Segments resnet50(const DatasetInfo& images) { return resnet(images, {3, 4, 6, 3}, bottleneck); }
Segments resnet101(const DatasetInfo& images) { return resnet(images, {3, 4, 23, 3}, bottleneck); }
Segments resnet152(const DatasetInfo& images) { return resnet(images, {3, 8, 36, 3}, bottleneck); }

/// The first block normalises the output of the first convolution, and a last normalisation that of all
/// blocks.
Segments resnet50_v2(const DatasetInfo& images) {
  Segments segments = {{{first_convolution(images)}}};
  if (!are_small(images)) segments.back().layers.push_back({"", MaxPool{3, 2, 1}});
  add_stages(segments, std::array{3, 4, 6, 3}, 64, preactivated_bottleneck);
  Layers last = {{"bn", BatchNorm{}}, {"", Relu{}}};
  append(last, head(images));
  segments.push_back({std::move(last)});
  return segments;
}

/// Three stages of five blocks. Source: He et al. (2016), section 4.2 with n = 5.
/// Those of section 4.2, with 6 layers for each of `blocks`, and two more.
static Segments resnet_of_cifar(const DatasetInfo& images, int blocks) {
  Segments segments = {{{{"conv1", convolution_3x3(16)}, {"bn1", BatchNorm{}}, {"", Relu{}}}}};
  for (int stage = 0; stage < 3; ++stage)
    for (int index = 0; index < blocks; ++index) {
      const std::int64_t width = std::int64_t{16} << stage;
      const bool smaller = stage > 0 && index == 0;
      const std::string name = "layer" + std::to_string(stage + 1) + '.' + std::to_string(index);
      Residual block{.body = basic_body(name, width, smaller ? 2 : 1), .shortcut = {}};
      if (smaller) block.shortcut = {{"", PadChannels{.outputs = width, .stride = 2}}};
      segments.push_back({{{"", std::move(block)}}});
    }
  segments.push_back({head(images)});
  return segments;
}

/// The first convolution has half the filters of the first stage, whose shortcut is projected, too.
Segments resnet_cifar(const DatasetInfo& images, const Options& options) {
  const std::int64_t filters = options.integer("filters");
  if (filters % 2 != 0) throw OptionError("model 'resnet-cifar'", "filters", "an even number", filters);
  const Convolution first = {.outputs = filters / 2, .kernel = 7, .padding = 3, .bias = false};
  Segments segments = {{{{"conv1", first}, {"bn1", BatchNorm{}}, {"", Relu{}}}}};
  add_stages(segments, blocks_of(options.text("blocks")), filters, preactivated_basic);
  segments.push_back({head(images)});
  return segments;
}

Segments resnet32(const DatasetInfo& images) { return resnet_of_cifar(images, 5); }
Segments resnet110(const DatasetInfo& images) { return resnet_of_cifar(images, 18); }

}  // namespace tandem::models
