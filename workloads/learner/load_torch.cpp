// The learner and its checkpoints, from the library with libtorch once they are asked for.
#include <dlfcn.h>

#include "workloads/learner/concurrent_program.hpp"
#include "workloads/learner/torch_library.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

const TorchFunctions& load_torch() {
  const auto path = path_beside_program(torch_library_name);
  // Global, so that the learner can find a function of the BLAS that libtorch brings along.
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void* const entry = library == nullptr ? nullptr : dlsym(library, torch_functions_name);
  if (entry == nullptr)
    throw WorldError(std::string("real math needs the library with libtorch beside this program: ") +
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
  return is_script(setting.model) ? torch().describe_script(setting) : plan_model(setting).description;
}
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint, const ModelDescription& model) {
  torch().save_checkpoint(path, checkpoint, model);
}
Checkpoint load_checkpoint(const std::string& path, const ModelDescription& model) {
  return torch().load_checkpoint(path, model);
}

}  // namespace tandem
