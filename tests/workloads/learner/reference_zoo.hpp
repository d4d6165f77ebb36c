// The larger models written again as functions of named tensors, from their papers and with torchvision's
// names, to compare the learner with.
#pragma once

#include <torch/torch.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/vocabulary/rng.hpp"

namespace tandem::reference {

/// One forward pass in training mode over named tensors.
class Pass {
 public:
  Pass(std::map<std::string, at::Tensor>& tensors, Rng dropout) : t_(tensors), rng_(dropout) {}

  at::Tensor run(const std::string& model, const at::Tensor& x) {
    if (model == "alexnet") return alexnet(x);
    if (model == "vgg11") return vgg(x, {1, 1, 2, 2, 2}, false);
    if (model == "vgg11-bn") return vgg(x, {1, 1, 2, 2, 2}, true);
    if (model == "resnet18") return resnet(x, {2, 2, 2, 2}, 2);
    if (model == "resnet34") return resnet(x, {3, 4, 6, 3}, 2);
    if (model == "resnet50") return resnet(x, {3, 4, 6, 3}, 3);
    if (model == "resnet50-v2") return resnet_v2(x);
    if (model == "resnet32") return resnet32(x);
    if (model == "mobilenet-v1") return mobilenet_v1(x);
    if (model == "mobilenet-v2") return mobilenet_v2(x);
    return inception(x);
  }

 private:
  struct Shape {
    std::int64_t stride = 1;
    std::vector<std::int64_t> padding = {0, 0};
    bool depthwise = false;
  };

  at::Tensor conv(const std::string& name, const at::Tensor& x, const Shape& shape = {1, {0, 0}, false}) {
    const auto bias = t_.find(name + ".bias");
    return at::conv2d(x, t_.at(name + ".weight"), bias == t_.end() ? at::Tensor() : bias->second,
                      shape.stride, shape.padding, 1, shape.depthwise ? x.size(1) : 1);
  }
  at::Tensor same(const std::string& name, const at::Tensor& x, std::int64_t stride = 1) {
    const auto& weight = t_.at(name + ".weight");
    return conv(name, x, {stride, {weight.size(2) / 2, weight.size(3) / 2}, false});
  }
  at::Tensor depthwise(const std::string& name, const at::Tensor& x, std::int64_t stride) {
    return conv(name, x, {stride, {1, 1}, true});
  }
  at::Tensor norm(const std::string& name, const at::Tensor& x, double epsilon = 1e-5) {
    return at::batch_norm(x, t_.at(name + ".weight"), t_.at(name + ".bias"), t_.at(name + ".running_mean"),
                          t_.at(name + ".running_var"), true, 0.1, epsilon, true);
  }
  at::Tensor linear(const std::string& name, const at::Tensor& x) {
    return at::linear(x, t_.at(name + ".weight"), t_.at(name + ".bias"));
  }
  static at::Tensor relu6(const at::Tensor& x) { return torch::nn::functional::relu6(x); }
  at::Tensor dropout(const at::Tensor& x, double probability) {
    std::vector<float> factors;
    for (std::int64_t i = 0; i < x.numel(); ++i)
      factors.push_back(rng_.uniform() < probability ? 0.0F : static_cast<float>(1.0 / (1.0 - probability)));
    return x * torch::tensor(factors).reshape(x.sizes());
  }
  static at::Tensor means(const at::Tensor& x) { return x.mean({2, 3}); }

  at::Tensor alexnet(at::Tensor x) {
    x = at::max_pool2d(at::relu(conv("features.0", x, {4, {2, 2}, false})), 3, 2);
    x = at::max_pool2d(at::relu(same("features.3", x)), 3, 2);
    x = at::relu(same("features.8", at::relu(same("features.6", x))));
    x = at::max_pool2d(at::relu(same("features.10", x)), 3, 2);
    x = dropout(at::adaptive_avg_pool2d(x, {6, 6}).flatten(1), 0.5);
    x = dropout(at::relu(linear("classifier.1", x)), 0.5);
    return linear("classifier.6", at::relu(linear("classifier.4", x)));
  }

  at::Tensor vgg(at::Tensor x, const std::vector<int>& stages, bool normalised) {
    int index = 0;
    for (const int convolutions : stages) {
      for (int i = 0; i < convolutions; ++i, index += normalised ? 3 : 2) {
        x = same("features." + std::to_string(index), x);
        if (normalised) x = norm("features." + std::to_string(index + 1), x);
        x = at::relu(x);
      }
      x = at::max_pool2d(x, 2);
      ++index;
    }
    x = at::adaptive_avg_pool2d(x, {7, 7}).flatten(1);
    x = dropout(at::relu(linear("classifier.0", x)), 0.5);
    return linear("classifier.6", dropout(at::relu(linear("classifier.3", x)), 0.5));
  }

  at::Tensor stem(const at::Tensor& x, bool normalised) {
    const bool small = x.size(2) < 64;
    at::Tensor y = same("conv1", x, small ? 1 : 2);
    if (normalised) y = at::relu(norm("bn1", y));
    return small ? y : at::max_pool2d(y, 3, 2, 1);
  }
  static std::string block(std::size_t stage, int index) {
    return "layer" + std::to_string(stage + 1) + '.' + std::to_string(index);
  }

  /// `convolutions`: number per block; the 3x3 convolution has the stride.
  at::Tensor resnet(at::Tensor x, const std::array<int, 4>& blocks, int convolutions) {
    x = stem(x, true);
    for (std::size_t stage = 0; stage < 4; ++stage)
      for (int i = 0; i < blocks[stage]; ++i) {
        const std::string name = block(stage, i);
        const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        at::Tensor y = x;
        for (int each = 1; each <= convolutions; ++each) {
          const std::string digit = std::to_string(each);
          y = same(name + ".conv" + digit, y, each == convolutions - 1 ? stride : 1);
          y = norm(name + ".bn" + digit, y);
          if (each < convolutions) y = at::relu(y);
        }
        if (t_.contains(name + ".downsample.0.weight"))
          x = norm(name + ".downsample.1", conv(name + ".downsample.0", x, {stride, {0, 0}, false}));
        x = at::relu(x + y);
      }
    return linear("fc", means(x));
  }

  at::Tensor resnet_v2(at::Tensor x) {
    x = stem(x, false);
    const int blocks[] = {3, 4, 6, 3};
    for (std::size_t stage = 0; stage < 4; ++stage)
      for (int i = 0; i < blocks[stage]; ++i) {
        const std::string name = block(stage, i);
        const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
        const at::Tensor before = at::relu(norm(name + ".bn1", x));
        at::Tensor y = at::relu(norm(name + ".bn2", conv(name + ".conv1", before)));
        y = at::relu(norm(name + ".bn3", same(name + ".conv2", y, stride)));
        if (i == 0) x = conv(name + ".downsample", before, {stride, {0, 0}, false});
        x = x + conv(name + ".conv3", y);
      }
    return linear("fc", means(at::relu(norm("bn", x))));
  }

  at::Tensor resnet32(at::Tensor x) {
    x = at::relu(norm("bn1", same("conv1", x)));
    for (std::size_t stage = 0; stage < 3; ++stage)
      for (int i = 0; i < 5; ++i) {
        const std::string name = block(stage, i);
        const bool smaller = stage > 0 && i == 0;
        at::Tensor y = at::relu(norm(name + ".bn1", same(name + ".conv1", x, smaller ? 2 : 1)));
        y = norm(name + ".bn2", same(name + ".conv2", y));
        if (smaller) {
          using torch::indexing::None;
          using torch::indexing::Slice;
          x = x.index({Slice(), Slice(), Slice(None, None, 2), Slice(None, None, 2)});
          x = at::cat({x, at::zeros_like(x)}, 1);
        }
        x = at::relu(x + y);
      }
    return linear("fc", means(x));
  }

  at::Tensor mobilenet_v1(at::Tensor x) {
    x = at::relu(norm("features.0.1", same("features.0.0", x, 2)));
    const int strides[] = {1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1};
    for (std::size_t i = 0; i < 13; ++i) {
      const std::string name = "features." + std::to_string(i + 1);
      x = at::relu(norm(name + ".depthwise.1", depthwise(name + ".depthwise.0", x, strides[i])));
      x = at::relu(norm(name + ".pointwise.1", conv(name + ".pointwise.0", x)));
    }
    return linear("classifier", means(x));
  }

  at::Tensor mobilenet_v2(at::Tensor x) {
    x = relu6(norm("features.0.1", same("features.0.0", x, 2)));
    const int strides[] = {1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1};
    for (std::size_t i = 0; i < 17; ++i) {
      const std::string name = "features." + std::to_string(i + 1) + ".conv.";
      at::Tensor y = x;
      if (i > 0) y = relu6(norm(name + "0.1", conv(name + "0.0", y)));
      const std::string middle = name + (i > 0 ? "1" : "0");
      y = relu6(norm(middle + ".1", depthwise(middle + ".0", y, strides[i])));
      y = norm(name + (i > 0 ? "3" : "2"), conv(name + (i > 0 ? "2" : "1"), y));
      x = x.sizes() == y.sizes() ? x + y : y;
    }
    x = relu6(norm("features.18.1", conv("features.18.0", x)));
    return linear("classifier.1", dropout(means(x), 0.2));
  }

  at::Tensor unit(const std::string& name, const at::Tensor& x) {
    return at::relu(norm(name + ".bn", same(name + ".conv", x), 1e-3));
  }
  at::Tensor shrink(const std::string& name, const at::Tensor& x, std::int64_t stride) {
    return at::relu(norm(name + ".bn", conv(name + ".conv", x, {stride, {0, 0}, false}), 1e-3));
  }
  at::Tensor chain(const std::string& name, at::Tensor x, const std::vector<std::string>& units) {
    for (const auto& each : units) x = unit(name + '.' + each, x);
    return x;
  }

  at::Tensor inception(at::Tensor x) {
    x = shrink("Conv2d_2a_3x3", shrink("Conv2d_1a_3x3", x, 2), 1);
    x = at::max_pool2d(unit("Conv2d_2b_3x3", x), 3, 2);
    x = at::max_pool2d(shrink("Conv2d_4a_3x3", unit("Conv2d_3b_1x1", x), 1), 3, 2);
    for (const std::string name : {"Mixed_5b", "Mixed_5c", "Mixed_5d"})
      x = at::cat({chain(name, x, {"branch1x1"}), chain(name, x, {"branch5x5_1", "branch5x5_2"}),
                   chain(name, x, {"branch3x3dbl_1", "branch3x3dbl_2", "branch3x3dbl_3"}),
                   unit(name + ".branch_pool", at::avg_pool2d(x, 3, 1, 1))},
                  1);
    x = at::cat(
        {shrink("Mixed_6a.branch3x3", x, 2),
         shrink("Mixed_6a.branch3x3dbl_3", chain("Mixed_6a", x, {"branch3x3dbl_1", "branch3x3dbl_2"}), 2),
         at::max_pool2d(x, 3, 2)},
        1);
    for (const std::string name : {"Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"})
      x = at::cat(
          {chain(name, x, {"branch1x1"}), chain(name, x, {"branch7x7_1", "branch7x7_2", "branch7x7_3"}),
           chain(name, x,
                 {"branch7x7dbl_1", "branch7x7dbl_2", "branch7x7dbl_3", "branch7x7dbl_4", "branch7x7dbl_5"}),
           unit(name + ".branch_pool", at::avg_pool2d(x, 3, 1, 1))},
          1);
    const at::Tensor seven = chain("Mixed_7a", x, {"branch7x7x3_1", "branch7x7x3_2", "branch7x7x3_3"});
    x = at::cat({shrink("Mixed_7a.branch3x3_2", unit("Mixed_7a.branch3x3_1", x), 2),
                 shrink("Mixed_7a.branch7x7x3_4", seven, 2), at::max_pool2d(x, 3, 2)},
                1);
    for (const std::string name : {"Mixed_7b", "Mixed_7c"}) {
      const at::Tensor three = unit(name + ".branch3x3_1", x);
      const at::Tensor twice = chain(name, x, {"branch3x3dbl_1", "branch3x3dbl_2"});
      x = at::cat(
          {chain(name, x, {"branch1x1"}), unit(name + ".branch3x3_2a", three),
           unit(name + ".branch3x3_2b", three), unit(name + ".branch3x3dbl_3a", twice),
           unit(name + ".branch3x3dbl_3b", twice), unit(name + ".branch_pool", at::avg_pool2d(x, 3, 1, 1))},
          1);
    }
    return linear("fc", dropout(means(x), 0.5));
  }

  std::map<std::string, at::Tensor>& t_;
  Rng rng_;
};

}  // namespace tandem::reference
