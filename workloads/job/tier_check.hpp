// Whether the ranks of a job that must stay are on hosts that do, and in the tiers that
// recovery.provisioning tiers asks for.
#pragma once

#include "workloads/job/job.hpp"

namespace tandem {

/// Errors: ConfigError naming the rank that is not, and its host.
void check_tiers(const Job& job);

/// Cache nodes and stores of a job that recovers in place stay. Errors: ConfigError naming one whose host's
/// machine may depart.
void check_storage_hosts(const Job& job);

}  // namespace tandem
