// The recovery policy of a job whose machines may depart.
#pragma once

#include <memory>

#include "policies/recovery/policy.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// The policy of recovery.policy, with a slot for each worker and for each spare. Errors: ConfigError.
std::unique_ptr<recovery::Policy> make_recovery_policy(const Job& job);

}  // namespace tandem
