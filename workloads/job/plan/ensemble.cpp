#include "workloads/job/plan/ensemble.hpp"

#include "workloads/experiment/resolved_experiment.hpp"

namespace tandem {
namespace {

/// Without a second worker there are no phases between workers, and no order of arrivals.
bool depends_on_timing(const Experiment& experiment, const sync::Factory& algorithm) {
  return algorithm.timing_driven && experiment.placement.workers.size() != 1;
}

std::string no_ensemble_reason(const Experiment& experiment, const sync::Factory& algorithm) {
  if (experiment.physics.ensemble == 0 || !depends_on_timing(experiment, algorithm)) return "";
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
  const sync::Factory& algorithm = chosen.algorithm.make();
  const bool has_ensemble =
      depends_on_timing(experiment, algorithm) && no_ensemble_reason(experiment, algorithm).empty();
  return has_ensemble ? experiment.physics.ensemble : 0;
}

bool draws_starts(const Experiment& experiment, int repetition) {
  return repetition > 0 && experiment.physics.noise != NoiseSource::profile && replicas_of(experiment) > 0;
}

bool draws_spread(const Experiment& experiment, int repetition) {
  return experiment.physics.noise == NoiseSource::spread || draws_starts(experiment, repetition);
}

}  // namespace tandem
