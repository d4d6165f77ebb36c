// Whether the ranks of a job that have to stay are on hosts that stay, as recovery.provisioning tiers
// requires.
#pragma once

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {

/// Errors: ConfigError naming a rank on another host, and that host.
void check_stable_roles(const Experiment& experiment, const platforms::Description& platform,
                        const Roster& roster);

}  // namespace tandem
