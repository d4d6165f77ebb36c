// Partial all-reduce: after each step, workers average their models in random groups, another division in
// each round. Prague (Luo et al., ASPLOS 2020) without its conflict detection: the groups of a round are
// disjoint.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Errors: OptionError when groups of that size do not divide the workers.
std::unique_ptr<WorkerPolicy> make_group_average_worker(const Setting& setting, int worker);
std::vector<OptionSpec> group_average_options();

}  // namespace tandem::sync
