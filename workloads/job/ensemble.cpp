#include "workloads/job/ensemble.hpp"

#include "policies/sync/policy.hpp"

namespace tandem {
namespace {

bool is_timing_driven(const Experiment& experiment) {
  return sync::catalog().find(experiment.sync.algorithm).make.timing_driven;
}

}  // namespace

std::string no_ensemble_reason(const Experiment& experiment) {
  if (experiment.physics.ensemble == 0 || !is_timing_driven(experiment)) return "";
  if (experiment.workload.math == Experiment::Workload::Math::modelled) return "";
  if (experiment.run.devices == DeviceSpeed::native)
    return "its replicas would train for real, because native devices are not modelled (run.devices)";
  if (sync::catalog().find(experiment.sync.algorithm).make.uses_losses)
    return "its replicas would train for real, because " + experiment.sync.algorithm + " decides by losses";
  return "";
}

int replicas_of(const Experiment& experiment) {
  if (!is_timing_driven(experiment) || !no_ensemble_reason(experiment).empty()) return 0;
  return experiment.physics.ensemble;
}

bool draws_starts(const Experiment& experiment, int repetition) {
  return repetition > 0 && experiment.physics.noise != NoiseSource::profile && replicas_of(experiment) > 0;
}

bool draws_spread(const Experiment& experiment, int repetition) {
  return experiment.physics.noise == NoiseSource::spread || draws_starts(experiment, repetition);
}

}  // namespace tandem
