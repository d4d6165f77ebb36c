// Whether the ranks of a job are on hosts of the tiers that recovery.provisioning tiers asks for.
#pragma once

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {

/// Errors: ConfigError naming the rank that is not, and its host.
void check_tiers(const Experiment& experiment, const platforms::Description& platform, const Roster& roster);

}  // namespace tandem
