// The learner and its checkpoints, from the library with libtorch, which is loaded on first use.
#include <dlfcn.h>

#include <filesystem>

#include "workloads/learner/script_cache.hpp"
#include "workloads/learner/torch_library.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

/// The library is in the folder of the running program, or in that of an installation.
std::filesystem::path library_path() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw WorldError("cannot find this program: /proc/self/exe: " + error.message());
  const auto beside = program.parent_path() / torch_library_name;
  const auto installed = program.parent_path().parent_path() / "lib" / "tandem" / torch_library_name;
  return std::filesystem::exists(installed, error) && !std::filesystem::exists(beside, error) ? installed
                                                                                              : beside;
}

const TorchFunctions& load_torch() {
  const auto path = library_path();
  // Global, so that the learner can find a function of the BLAS that libtorch contains.
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, torch_functions_name);
  if (entry == nullptr)
    throw WorldError(std::string("real math needs the library with libtorch, libtandem_torch.so, in the "
                                 "folder of this program or in lib/tandem: ") +
                     dlerror());
  return *reinterpret_cast<TorchFunctionsOf>(entry)();
}

const TorchFunctions& torch() {
  static const TorchFunctions& functions = load_torch();
  return functions;
}

}  // namespace

void prepare_learner() { torch(); }
int learner_gpus() { return torch().learner_gpus(); }
std::unique_ptr<Learner> make_learner(const LearnerSetting& setting, ComputeDevice& device) {
  return torch().make_learner(setting, device);
}
ModelDescription describe_model(const LearnerSetting& setting) {
  if (!is_script(setting.model)) return plan_model(setting).description;
  const std::string key = description_key(setting);
  if (const auto known = cached_description(setting, key)) return *known;
  const ModelDescription description = torch().describe_script(setting);
  keep_description(setting, key, description);
  return description;
}
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint, const ModelDescription& model) {
  torch().save_checkpoint(path, checkpoint, model);
}
Checkpoint load_checkpoint(const std::string& path, const ModelDescription& model) {
  return torch().load_checkpoint(path, model);
}

}  // namespace tandem
