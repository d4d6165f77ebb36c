// Whether the ranks of a job are on hosts of the tiers that recovery.provisioning tiers asks for.
#pragma once

#include "workloads/job/job.hpp"

namespace tandem {

/// Errors: ConfigError naming the rank that is not, and its host.
void check_tiers(const Job& job);

}  // namespace tandem
