#include "workloads/job/ensemble.hpp"

#include "workloads/job/resolved_experiment.hpp"

namespace tandem {
namespace {

std::string no_ensemble_reason(const Experiment& experiment, const sync::Factory& algorithm) {
  if (experiment.physics.ensemble == 0 || !algorithm.timing_driven) return "";
  if (experiment.workload.math == Experiment::Workload::Math::modelled) return "";
  if (experiment.run.devices == DeviceSpeed::native)
    return "its replicas would train for real, because native devices are not modelled (run.devices)";
  if (algorithm.uses_losses)
    return "its replicas would train for real, because " + experiment.sync.algorithm + " decides by losses";
  return "";
}

}  // namespace

std::string no_ensemble_reason(const Experiment& experiment) {
  return no_ensemble_reason(experiment, ResolvedExperiment(experiment).algorithm.make());
}

int replicas_of(const Experiment& experiment) {
  const ResolvedExperiment chosen(experiment);
  const bool has_ensemble =
      chosen.algorithm->timing_driven && no_ensemble_reason(experiment, chosen.algorithm.make()).empty();
  return has_ensemble ? experiment.physics.ensemble : 0;
}

bool draws_starts(const Experiment& experiment, int repetition) {
  return repetition > 0 && experiment.physics.noise != NoiseSource::profile && replicas_of(experiment) > 0;
}

bool draws_spread(const Experiment& experiment, int repetition) {
  return experiment.physics.noise == NoiseSource::spread || draws_starts(experiment, repetition);
}

}  // namespace tandem
