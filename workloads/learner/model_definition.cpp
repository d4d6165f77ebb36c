#include "workloads/learner/model_definition.hpp"

#include "workloads/learner/learner.hpp"

namespace tandem {
namespace {

/// "2NN" of McMahan et al.
std::vector<Segment> mlp(std::int64_t classes) {
  return {
      {{{"", Flatten{}}, {"fc1", Linear{200}}, {"", Relu{}}}},
      {{{"fc2", Linear{200}}, {"", Relu{}}}},
      {{{"fc3", Linear{classes}}}},
  };
}

/// The 20-50-500 variant of LeNet-5 with ReLU and max pooling.
std::vector<Segment> lenet(std::int64_t classes) {
  return {
      {{{"conv1", Convolution{.outputs = 20, .kernel = 5}}, {"", MaxPool{2}}, {"", Relu{}}}},
      {{{"conv2", Convolution{.outputs = 50, .kernel = 5}}, {"", MaxPool{2}}, {"", Relu{}}}},
      {{{"", Flatten{}}, {"fc1", Linear{500}}, {"", Relu{}}}},
      {{{"fc2", Linear{classes}}}},
  };
}

Convolution convolution_3x3(std::int64_t outputs, std::int64_t stride) {
  return {.outputs = outputs, .kernel = 3, .stride = stride, .padding = 1, .bias = false};
}

/// Two 3x3 convolutions; the shortcut is projected where the shape changes.
Segment basic_block(const std::string& name, std::int64_t channels, std::int64_t stride, bool projected) {
  Residual block;
  block.body = {{name + ".conv1", convolution_3x3(channels, stride)},
                {name + ".bn1", BatchNorm{}},
                {"", Relu{}},
                {name + ".conv2", convolution_3x3(channels, 1)},
                {name + ".bn2", BatchNorm{}}};
  if (projected) {
    const Convolution projection{.outputs = channels, .kernel = 1, .stride = stride, .bias = false};
    block.shortcut = {{name + ".downsample.0", projection}, {name + ".downsample.1", BatchNorm{}}};
  }
  return {{{"", std::move(block)}}};
}

/// For small images: a 3x3 stem without max pooling, then four stages of two blocks.
std::vector<Segment> resnet18(std::int64_t classes) {
  std::vector<Segment> segments = {{{{"conv1", convolution_3x3(64, 1)}, {"bn1", BatchNorm{}}, {"", Relu{}}}}};
  for (int stage = 1; stage <= 4; ++stage) {
    const std::int64_t channels = std::int64_t{32} << stage;
    const std::string name = "layer" + std::to_string(stage);
    segments.push_back(basic_block(name + ".0", channels, stage == 1 ? 1 : 2, stage > 1));
    segments.push_back(basic_block(name + ".1", channels, 1, false));
  }
  segments.push_back({{{"", GlobalAveragePool{}}, {"", Flatten{}}, {"fc", Linear{classes}}}});
  return segments;
}

using Definer = std::vector<Segment> (*)(std::int64_t classes);
constexpr Definer definers[] = {mlp, lenet, resnet18};

}  // namespace

const Catalog<int>& model_catalog() {
  // `make` indexes `definers`.
  static const Catalog<int> catalog(
      "model",
      {{"mlp", "perceptron with two hidden layers of 200", "McMahan et al. (2017), 2NN", {}, 0},
       {"lenet",
        "LeNet with 20 and 50 filters and 500 hidden units, for images of 16x16 and larger",
        "LeCun et al. (1998)",
        {},
        1},
       {"resnet18", "ResNet-18 for small images: 3x3 stem, no max pooling", "He et al. (2016)", {}, 2}});
  return catalog;
}

std::vector<Segment> define_model(const std::string& model, std::int64_t classes) {
  return definers[model_catalog().find(model).make](classes);
}

}  // namespace tandem
