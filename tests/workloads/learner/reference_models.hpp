// The models written again with torch::nn, as PyTorch users would, to compare the learner with.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace tandem::reference {

using torch::nn::BatchNorm2d;
using torch::nn::Conv2d;
using torch::nn::Conv2dOptions;
using torch::nn::Linear;
using torch::nn::Sequential;

/// A second definition of each model, with names as PyTorch users write them.
struct Network : torch::nn::Module {
  virtual at::Tensor forward(at::Tensor x) = 0;
};

struct Mlp : Network {
  Linear fc1, fc2, fc3;
  Mlp()
      : fc1(register_module("fc1", Linear(784, 200))),
        fc2(register_module("fc2", Linear(200, 200))),
        fc3(register_module("fc3", Linear(200, 10))) {}
  at::Tensor forward(at::Tensor x) override { return fc3(torch::relu(fc2(torch::relu(fc1(x.flatten(1)))))); }
};

struct Lenet : Network {
  Conv2d conv1, conv2;
  Linear fc1, fc2;
  Lenet()
      : conv1(register_module("conv1", Conv2d(1, 20, 5))),
        conv2(register_module("conv2", Conv2d(20, 50, 5))),
        fc1(register_module("fc1", Linear(800, 500))),
        fc2(register_module("fc2", Linear(500, 10))) {}
  at::Tensor forward(at::Tensor x) override {
    x = torch::relu(torch::max_pool2d(conv1(x), 2));
    x = torch::relu(torch::max_pool2d(conv2(x), 2));
    return fc2(torch::relu(fc1(x.flatten(1))));
  }
};

struct Block : Network {
  Conv2d conv1, conv2;
  BatchNorm2d bn1, bn2;
  Sequential downsample;
  Block(int inputs, int outputs, int stride)
      : conv1(register_module(
            "conv1", Conv2d(Conv2dOptions(inputs, outputs, 3).stride(stride).padding(1).bias(false)))),
        conv2(register_module("conv2", Conv2d(Conv2dOptions(outputs, outputs, 3).padding(1).bias(false)))),
        bn1(register_module("bn1", BatchNorm2d(outputs))),
        bn2(register_module("bn2", BatchNorm2d(outputs))) {
    if (inputs == outputs) return;
    downsample->push_back(Conv2d(Conv2dOptions(inputs, outputs, 1).stride(stride).bias(false)));
    downsample->push_back(BatchNorm2d(outputs));
    register_module("downsample", downsample);
  }
  at::Tensor forward(at::Tensor x) override {
    const auto body = bn2(conv2(torch::relu(bn1(conv1(x)))));
    return torch::relu(body + (downsample->is_empty() ? x : downsample->forward(x)));
  }
};

struct Resnet : Network {
  Conv2d conv1;
  BatchNorm2d bn1;
  std::vector<std::shared_ptr<Block>> blocks;
  Linear fc;
  explicit Resnet(int channels)
      : conv1(register_module("conv1", Conv2d(Conv2dOptions(channels, 64, 3).padding(1).bias(false)))),
        bn1(register_module("bn1", BatchNorm2d(64))),
        fc(register_module("fc", Linear(512, 10))) {
    const int widths[] = {64, 64, 128, 256, 512};
    for (int stage = 1; stage <= 4; ++stage) {
      auto pair = register_module("layer" + std::to_string(stage), std::make_shared<Pair>());
      const int stride = stage == 1 ? 1 : 2;
      blocks.push_back(pair->add("0", widths[stage - 1], widths[stage], stride));
      blocks.push_back(pair->add("1", widths[stage], widths[stage], 1));
    }
  }
  at::Tensor forward(at::Tensor x) override {
    x = torch::relu(bn1(conv1(x)));
    for (auto& block : blocks) x = block->forward(x);
    return fc(torch::adaptive_avg_pool2d(x, {1, 1}).flatten(1));
  }

 private:
  struct Pair : torch::nn::Module {
    std::shared_ptr<Block> add(const std::string& name, int inputs, int outputs, int stride) {
      return register_module(name, std::make_shared<Block>(inputs, outputs, stride));
    }
  };
};

inline std::shared_ptr<Network> make(const std::string& model, int channels) {
  if (model == "mlp") return std::make_shared<Mlp>();
  if (model == "lenet") return std::make_shared<Lenet>();
  return std::make_shared<Resnet>(channels);
}

}  // namespace tandem::reference
