// Replaces the learner in a build without libtorch: real math ends in an error that says so.
#include "policies/vocabulary/check.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/learner/script_cache.hpp"
#include "workloads/model/plan.hpp"

namespace tandem {
namespace {

[[noreturn]] void fail_without_torch(const char* what) {
  throw ConfigError(
      std::string(what) +
      " needs libtorch, and this Tandem was built without libtorch: apt-get install libtorch-dev and build "
      "again, or set workload.math to modelled");
}

}  // namespace

void prepare_learner() {}
int learner_gpus() { return 0; }
std::unique_ptr<Learner> make_learner(const LearnerSetting&, ComputeDevice&) {
  fail_without_torch("real math");
}
ModelDescription describe_model(const LearnerSetting& setting) {
  if (!is_script(setting.model)) return plan_model(setting).description;
  if (const auto known = cached_description(setting, description_key(setting))) return *known;
  throw ConfigError(
      "model '" + setting.model +
      "': reading TorchScript needs libtorch, and this Tandem was built without libtorch: apt-get "
      "install libtorch-dev and build again, or name a model of `tandem list model`");
}
void save_checkpoint(const std::string&, const Checkpoint&, const ModelDescription&) {
  fail_without_torch("writing a checkpoint");
}
Checkpoint load_checkpoint(const std::string&, const ModelDescription&) {
  fail_without_torch("reading a checkpoint");
}

}  // namespace tandem
