// AD-PSGD (Lian et al., ICML 2018): every other worker is active; in each step it and a random passive
// neighbour take the mean of their models, while both compute. Nobody waits for a slower worker's step.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_ad_psgd_worker(const Setting& setting, int worker);
std::vector<OptionSpec> ad_psgd_options();

}  // namespace tandem::sync
