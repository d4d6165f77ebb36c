// Models whose layers follow one another without branches: perceptron, LeNet, AlexNet and VGG.
#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/model/zoo/models.hpp"

namespace tandem::models {
namespace {

/// Without batch normalisation deep networks learn only with weights that keep the variance through ReLU.
/// Source: He et al. (2015).
const double gain_through_relu = std::sqrt(6.0);

std::string feature(int index) { return "features." + std::to_string(index); }

/// `convolutions`: number of convolutions of each stage before its max pooling.
Segments vgg(const DatasetInfo& images, const std::array<int, 5>& convolutions, bool normalised) {
  Segments segments;
  int index = 0;  // torchvision counts layers with and without tensors
  for (std::size_t stage = 0; stage < convolutions.size(); ++stage) {
    const std::int64_t width = std::min(std::int64_t{64} << stage, std::int64_t{512});
    const Convolution convolution{.outputs = width, .kernel = 3, .padding = 1, .gain = gain_through_relu};
    for (int each = 0; each < convolutions[stage]; ++each) {
      Layers layers = {{feature(index++), convolution}};
      if (normalised) layers.push_back({feature(index++), BatchNorm{}});
      layers.push_back({"", Relu{}});
      ++index;
      segments.push_back({std::move(layers)});
    }
    segments.back().layers.push_back({"", MaxPool{2}});
    ++index;
  }
  segments.push_back({{{"", AdaptiveAveragePool{7}},
                       {"", Flatten{}},
                       {"classifier.0", Linear{4096}},
                       {"", Relu{}},
                       {"", Dropout{0.5}}}});
  segments.push_back({{{"classifier.3", Linear{4096}}, {"", Relu{}}, {"", Dropout{0.5}}}});
  segments.push_back({{{"classifier.6", Linear{images.classes}}}});
  return segments;
}

}  // namespace

Segments mlp(const DatasetInfo& images) {
  return {
      {{{"", Flatten{}}, {"fc1", Linear{200}}, {"", Relu{}}}},
      {{{"fc2", Linear{200}}, {"", Relu{}}}},
      {{{"fc3", Linear{images.classes}}}},
  };
}

Segments lenet(const DatasetInfo& images) {
  return {
      {{{"conv1", Convolution{.outputs = 20, .kernel = 5}}, {"", MaxPool{2}}, {"", Relu{}}}},
      {{{"conv2", Convolution{.outputs = 50, .kernel = 5}}, {"", MaxPool{2}}, {"", Relu{}}}},
      {{{"", Flatten{}}, {"fc1", Linear{500}}, {"", Relu{}}}},
      {{{"fc2", Linear{images.classes}}}},
  };
}

Segments alexnet(const DatasetInfo& images) {
  const auto convolution = [](std::int64_t outputs, std::int64_t kernel) {
    return Convolution{.outputs = outputs, .kernel = kernel, .padding = kernel / 2};
  };
  return {
      {{{"features.0", Convolution{.outputs = 64, .kernel = 11, .stride = 4, .padding = 2}},
        {"", Relu{}},
        {"", MaxPool{3, 2}}}},
      {{{"features.3", convolution(192, 5)}, {"", Relu{}}, {"", MaxPool{3, 2}}}},
      {{{"features.6", convolution(384, 3)}, {"", Relu{}}}},
      {{{"features.8", convolution(256, 3)}, {"", Relu{}}}},
      {{{"features.10", convolution(256, 3)}, {"", Relu{}}, {"", MaxPool{3, 2}}}},
      {{{"", AdaptiveAveragePool{6}},
        {"", Flatten{}},
        {"", Dropout{0.5}},
        {"classifier.1", Linear{4096}},
        {"", Relu{}}}},
      {{{"", Dropout{0.5}}, {"classifier.4", Linear{4096}}, {"", Relu{}}}},
      {{{"classifier.6", Linear{images.classes}}}},
  };
}

Segments vgg11(const DatasetInfo& images) { return vgg(images, {1, 1, 2, 2, 2}, false); }
Segments vgg11_bn(const DatasetInfo& images) { return vgg(images, {1, 1, 2, 2, 2}, true); }
Segments vgg13(const DatasetInfo& images) { return vgg(images, {2, 2, 2, 2, 2}, false); }
Segments vgg16(const DatasetInfo& images) { return vgg(images, {2, 2, 3, 3, 3}, false); }
Segments vgg19(const DatasetInfo& images) { return vgg(images, {2, 2, 4, 4, 4}, false); }

}  // namespace tandem::models
