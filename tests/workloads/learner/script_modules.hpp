// TorchScript files for tests, written without Python.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// Builds a module from tensors and a forward function, and saves it.
class ScriptFile {
 public:
  ScriptFile() : module_("__torch__.Network") {
    module_.register_attribute("training", c10::BoolType::get(), true);
  }

  /// Adds a submodule with tensors, like a layer. They start with small fixed random values.
  ScriptFile& layer(const std::string& name,
                    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& parameters) {
    torch::jit::Module layer("__torch__." + name);
    for (const auto& [own_name, shape] : parameters)
      layer.register_parameter(own_name, ((torch::rand(shape, generator_) - 0.5) * 0.2).requires_grad_(true),
                               false);
    module_.register_module(name, layer);
    return *this;
  }
  /// The parameter is trained if the value requires a gradient.
  ScriptFile& parameter(const std::string& name, at::Tensor value) {
    module_.register_parameter(name, std::move(value), false);
    return *this;
  }
  ScriptFile& buffer(const std::string& name, at::Tensor value) {
    module_.register_buffer(name, std::move(value));
    return *this;
  }
  /// `body`: the body of forward(self, x), each line indented by four.
  void save(const std::string& path, const std::string& body) {
    module_.define("def forward(self, x):\n" + body);
    module_.save(path);
  }

 private:
  torch::jit::Module module_;
  at::Generator generator_ = at::detail::createCPUGenerator(5);
};

/// The catalogue's LeNet for grey 28x28 images.
inline void save_lenet(const std::string& path) {
  ScriptFile()
      .layer("conv1", {{"weight", {20, 1, 5, 5}}, {"bias", {20}}})
      .layer("conv2", {{"weight", {50, 20, 5, 5}}, {"bias", {50}}})
      .layer("fc1", {{"weight", {500, 800}}, {"bias", {500}}})
      .layer("fc2", {{"weight", {10, 500}}, {"bias", {10}}})
      .save(path,
            "    x = torch.relu(torch.max_pool2d(torch.conv2d(x, self.conv1.weight, self.conv1.bias), [2, "
            "2]))\n"
            "    x = torch.relu(torch.max_pool2d(torch.conv2d(x, self.conv2.weight, self.conv2.bias), [2, "
            "2]))\n"
            "    x = torch.relu(torch.linear(torch.flatten(x, 1), self.fc1.weight, self.fc1.bias))\n"
            "    return torch.linear(x, self.fc2.weight, self.fc2.bias)\n");
}

/// Two layers with a smooth function between them, for grey 28x28 images (support/reexecution.hpp).
inline void save_tanh_network(const std::string& path) {
  ScriptFile()
      .layer("fc1", {{"weight", {16, 784}}, {"bias", {16}}})
      .layer("fc2", {{"weight", {10, 16}}, {"bias", {10}}})
      .save(path,
            "    x = torch.tanh(torch.linear(torch.flatten(x, 1), self.fc1.weight, self.fc1.bias))\n"
            "    return torch.linear(x, self.fc2.weight, self.fc2.bias)\n");
}

/// A module with everything that makes bucketed backward hard: a shortcut over two layers, a weight used
/// twice, normalisation with statistics, dropout, an integer counter, a buffer that is replaced, a parameter
/// that requires no gradient and an unused one.
inline void save_tangle(const std::string& path) {
  ScriptFile()
      .parameter("frozen", torch::full({1, 1, 3, 3}, 0.5))
      .layer("first", {{"weight", {6, 1, 3, 3}}})
      .layer("norm", {{"weight", {6}}, {"bias", {6}}})
      .buffer("mean", torch::zeros({6}))
      .buffer("variance", torch::ones({6}))
      .buffer("steps", torch::zeros({}, torch::kLong))
      .buffer("average", torch::zeros({1}))
      .layer("twice", {{"weight", {6, 6, 3, 3}}})
      .layer("unused", {{"weight", {4}}})
      .layer("last", {{"weight", {10, 6}}, {"bias", {10}}})
      .save(path,
            "    if self.training:\n"
            "        self.steps = self.steps + 1\n"
            "        self.average = self.average * 0.5 + torch.mean(x).reshape([1]) * 0.5\n"
            "    x = torch.conv2d(x, self.frozen, None, [1, 1], [1, 1])\n"
            "    x = torch.conv2d(x, self.first.weight, None, [2, 2], [1, 1])\n"
            "    x = torch.relu(torch.batch_norm(x, self.norm.weight, self.norm.bias, self.mean, "
            "self.variance,\n"
            "                                    self.training, 0.1, 1e-5, False))\n"
            "    y = torch.relu(torch.conv2d(x, self.twice.weight, None, [1, 1], [1, 1]))\n"
            "    x = x + torch.conv2d(y, self.twice.weight, None, [1, 1], [1, 1])\n"
            "    x = torch.dropout(torch.mean(x, [2, 3]), 0.25, self.training)\n"
            "    return torch.linear(x, self.last.weight, self.last.bias)\n");
}

}  // namespace tandem::testing
