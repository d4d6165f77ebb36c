#include "workloads/learner/script_model.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/zip_check.hpp"

namespace tandem {
namespace {

/// libtorch prints the call stack of an error; the last line is the error itself.
std::string reason_of(const std::exception& error) {
  const auto* own = dynamic_cast<const c10::Error*>(&error);
  std::istringstream text(own != nullptr ? own->what_without_backtrace() : error.what());
  std::string last;
  for (std::string line; std::getline(text, line);)
    if (line.find_first_not_of(' ') != std::string::npos) last = line;
  return last;
}

torch::jit::Module load(const std::string& path, at::Device device) {
  if (std::ifstream file(path); !file)
    throw ConfigError("model '" + path + "' cannot be opened: " + std::strerror(errno));
  const auto fail = [&](const std::string& reason) {
    throw ConfigError("model '" + path +
                      "': expected a TorchScript module, as torch.jit.save writes it, found a damaged or "
                      "different file: " +
                      reason);
  };
  // libtorch crashes on some damaged files.
  if (const auto error = find_zip_error(path)) fail(*error);
  try {
    return torch::jit::load(path, device);
  } catch (const std::exception& error) {
    fail(reason_of(error));
  }
  return torch::jit::Module();
}

/// The module that contains a tensor with a name like "layer1.0.weight", and the tensor's name there.
std::pair<torch::jit::Module, std::string> owner_of(const torch::jit::Module& module,
                                                    const std::string& name) {
  const auto dot = name.find('.');
  if (dot == std::string::npos) return {module, name};
  return owner_of(module.attr(name.substr(0, dot)).toModule(), name.substr(dot + 1));
}

}  // namespace

std::string shape_text(at::IntArrayRef shape) {
  std::string text;
  for (const auto extent : shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text.empty() ? "one value" : text;
}

ScriptModel::ScriptModel(const LearnerSetting& setting, at::Device device)
    : name_(setting.model), classes_(setting.dataset.classes), module_(load(setting.model, device)) {}

std::vector<ScriptTensor> ScriptModel::tensors() const {
  std::set<std::string> parameters;
  for (const auto& parameter : module_.named_parameters()) parameters.insert(parameter.name);
  std::vector<ScriptTensor> tensors;
  std::set<const c10::TensorImpl*> seen;
  for (const auto& attribute : module_.named_attributes()) {
    if (!attribute.value.isTensor()) continue;
    const at::Tensor value = attribute.value.toTensor();
    const bool counts = value.defined() && value.is_floating_point() && value.numel() > 0;
    if (!counts || !seen.insert(value.unsafeGetTensorImpl()).second) continue;
    const bool trained = value.requires_grad() && parameters.contains(attribute.name);
    tensors.push_back({attribute.name, value, trained});
  }
  return tensors;
}

at::Tensor ScriptModel::run(const at::Tensor& pixels, bool training) {
  // Optimised graphs merge operations, and differ between the first and the third step.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  module_.train(training);
  c10::IValue output;
  try {
    output = module_.forward({pixels});
  } catch (const std::exception& error) {
    throw ConfigError("model '" + name_ + "' does not accept images of " +
                      shape_text(pixels.sizes().slice(1)) + ": " + reason_of(error));
  }
  const bool fits = output.isTensor() && output.toTensor().dim() == 2 &&
                    output.toTensor().size(0) == pixels.size(0) && output.toTensor().size(1) >= classes_;
  if (!fits)
    throw ConfigError("model '" + name_ + "': expected outputs of " + std::to_string(pixels.size(0)) + 'x' +
                      std::to_string(classes_) + " (images and classes) or wider, found " +
                      (output.isTensor() ? shape_text(output.toTensor().sizes()) : output.tagKind()));
  return output.toTensor();
}

at::Tensor ScriptModel::get(const std::string& name) const {
  const auto [owner, own_name] = owner_of(module_, name);
  return owner.attr(own_name).toTensor();
}

void ScriptModel::set(const std::string& name, const at::Tensor& value) {
  auto [owner, own_name] = owner_of(module_, name);
  owner.setattr(own_name, value);
}

}  // namespace tandem
