// Checkpoints in PyTorch's own file format. libtorch's unpickler reads data only and runs no code.
#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "workloads/data/zip_check.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/learner/script_model.hpp"
#include "workloads/learner/torch_learner.hpp"

namespace tandem {
namespace {

using StateDict = c10::Dict<std::string, at::Tensor>;

c10::IValue read_archive(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError("checkpoint '" + path + "' cannot be opened: " + std::strerror(errno));
  const std::string bytes = rest_of(file);
  const auto fail = [&](const std::string& reason) {
    throw ConfigError("checkpoint '" + path + "' is corrupt: expected a file of torch.save, found " +
                      std::to_string(bytes.size()) + " other bytes" + reason);
  };
  // libtorch crashes on some damaged files.
  if (const auto error = find_zip_error(path)) fail(" (" + *error + ")");
  try {
    return torch::jit::pickle_load({bytes.begin(), bytes.end()});
  } catch (const std::exception&) {
    fail("");
  }
  return {};
}

[[noreturn]] void fail_entry(const std::string& path, const std::string& entry) {
  throw ConfigError("checkpoint '" + path + "' was not written by Tandem: expected entry '" + entry +
                    "', found none of that type");
}

c10::IValue entry_of(const c10::IValue& archive, const std::string& path, const std::string& name) {
  if (!archive.isGenericDict()) fail_entry(path, name);
  const auto entries = archive.toGenericDict();
  const auto found = entries.find(name);
  if (found == entries.end()) fail_entry(path, name);
  return found->value();
}

/// Whether torch.jit.save wrote the file: no file of torch.save has this record.
bool is_torch_script(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || find_zip_error(path)) return false;
  try {
    return caffe2::serialize::PyTorchStreamReader(path).hasRecord("constants.pkl");
  } catch (const std::exception&) {
    return false;
  }
}

/// A pretrained model, written by PyTorch.
Checkpoint load_torch_script(const std::string& path, const ModelDescription& model) {
  LearnerSetting setting;
  setting.model = path;
  const ScriptModel script(setting, at::kCPU);
  std::map<std::string, at::Tensor> found;
  for (const ScriptTensor& tensor : script.tensors()) found.emplace(tensor.name, tensor.value);
  Checkpoint checkpoint{.model = model.name, .step = 0, .values = {}};
  checkpoint.values.resize(static_cast<std::size_t>(model.elements()));
  for (const auto& tensor : model.tensors) {
    const auto own = found.find(tensor.name);
    if (own == found.end() || own->second.sizes() != tensor.shape)
      throw ConfigError("TorchScript file '" + path + "': expected the tensors of model '" + model.name +
                        "', among them '" + tensor.name + "' (" + shape_text(tensor.shape) + "), found " +
                        (own == found.end() ? "none of that name" : shape_text(own->second.sizes())));
    const at::Tensor values = own->second.detach().to(at::kFloat).contiguous();
    std::copy_n(values.data_ptr<float>(), tensor.elements(), checkpoint.values.begin() + tensor.offset);
  }
  return checkpoint;
}

std::int64_t count_values(const c10::impl::GenericDict& state) {
  std::int64_t count = 0;
  for (const auto& entry : state)
    if (entry.value().isTensor()) count += entry.value().toTensor().numel();
  return count;
}

}  // namespace

void save_torch_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                           const ModelDescription& model) {
  TANDEM_CHECK(std::ssize(checkpoint.values) == model.elements(), checkpoint.values.size(), model.elements());
  StateDict state;
  for (const auto& tensor : model.tensors) {
    at::Tensor values = at::empty(tensor.shape, at::kFloat);
    std::copy_n(checkpoint.values.begin() + tensor.offset, tensor.elements(), values.data_ptr<float>());
    state.insert(tensor.name, values);
  }
  c10::impl::GenericDict archive(c10::StringType::get(), c10::AnyType::get());
  archive.insert("model", checkpoint.model);
  archive.insert("step", checkpoint.step);
  archive.insert("state_dict", state);
  const std::vector<char> bytes = torch::jit::pickle_save(archive);
  write_own_file(path, std::string_view(bytes.data(), bytes.size()));
}

Checkpoint load_torch_checkpoint(const std::string& path, const ModelDescription& model) {
  if (is_torch_script(path)) return load_torch_script(path, model);
  const auto archive = read_archive(path);
  const auto name = entry_of(archive, path, "model");
  const auto step = entry_of(archive, path, "step");
  const auto entries = entry_of(archive, path, "state_dict");
  if (!name.isString()) fail_entry(path, "model");
  if (!step.isInt()) fail_entry(path, "step");
  if (!entries.isGenericDict()) fail_entry(path, "state_dict");
  const auto state = entries.toGenericDict();
  const auto found_values = count_values(state);
  if (name.toStringRef() != model.name || found_values != model.elements())
    throw ConfigError("checkpoint of model '" + name.toStringRef() + "' (" + std::to_string(found_values) +
                      " values), expected '" + model.name + "' (" + std::to_string(model.elements()) +
                      " values), in '" + path + "'");

  Checkpoint checkpoint{.model = model.name, .step = step.toInt(), .values = {}};
  checkpoint.values.resize(static_cast<std::size_t>(model.elements()));
  for (const auto& tensor : model.tensors) {
    const auto found = state.find(tensor.name);
    if (found == state.end() || !found->value().isTensor() ||
        found->value().toTensor().sizes() != tensor.shape)
      throw ConfigError("checkpoint '" + path + "' has no tensor '" + tensor.name +
                        "' of the expected shape");
    const at::Tensor values = found->value().toTensor().to(at::kFloat).contiguous();
    std::copy_n(values.data_ptr<float>(), tensor.elements(), checkpoint.values.begin() + tensor.offset);
  }
  return checkpoint;
}

}  // namespace tandem
