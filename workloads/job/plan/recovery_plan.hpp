// The recovery policy of a job whose machines may depart.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

class Job;

/// The policy of recovery.policy. `slots`: for all workers, spares included; `zones` and `machines`: of each
/// slot. Errors: ConfigError.
std::unique_ptr<recovery::Policy> make_recovery_policy(const Experiment& experiment, int slots,
                                                       std::vector<std::size_t> zones,
                                                       std::vector<SlotMachine> machines);
std::unique_ptr<recovery::Policy> make_recovery_policy(const Job& job);

/// Errors: ConfigError naming the host if the policy asks for the distribution of lifetimes, and machines of
/// a host have lifetimes of their own.
void check_known_lifetimes(const Job& job);

}  // namespace tandem
