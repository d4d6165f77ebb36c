// Which hosts of a platform have the roles of an experiment.
#pragma once

#include <functional>

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/origin.hpp"
#include "workloads/experiment/resolved_experiment.hpp"

namespace tandem {

/// Checks what depends on the hosts of an experiment that is launched again, with its names resolved.
using CheckPlaced = std::function<void(const Experiment& experiment, const ResolvedExperiment& chosen)>;

/// Fills in placement defaults (workers: every host without another role), then checks that hosts and roles
/// fit. `check`: called when hosts are known. Errors: ConfigError, placed by `locate`.
void place_roles(Experiment& experiment, const platforms::Description& platform, const Locate& locate,
                 const CheckPlaced& check);

}  // namespace tandem
