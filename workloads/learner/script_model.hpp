// A TorchScript module read from its file: the tensors that make up the model, and its forward pass.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "workloads/learner/learner.hpp"

namespace tandem {

struct ScriptTensor {
  std::string name;
  at::Tensor value;  ///< the module's own: a change in place changes the module
  bool trained;      ///< a parameter that needs a gradient
};

/// "20x1x5x5".
std::string shape_text(at::IntArrayRef shape);

class ScriptModel {
 public:
  /// Errors: ConfigError when the file is missing or not TorchScript.
  ScriptModel(const LearnerSetting& setting, at::Device device);

  /// Parameters and buffers of real numbers in the module's order, each once.
  std::vector<ScriptTensor> tensors() const;
  /// One row of values per image. Errors: ConfigError when the module fails or returns something else.
  at::Tensor run(const at::Tensor& pixels, bool training);
  /// Returns the current value of a tensor, and replaces it.
  at::Tensor get(const std::string& name) const;
  void set(const std::string& name, const at::Tensor& value);

 private:
  std::string name_;
  int classes_;
  torch::jit::Module module_;
};

}  // namespace tandem
