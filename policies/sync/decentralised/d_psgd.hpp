// D-PSGD (Lian et al., NIPS 2017): no server and no all-reduce; each worker averages its model with its
// neighbours' in every step. With a global average now and then it is Gossip-PGA (Chen et al., ICML 2021).
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_d_psgd_worker(const Setting& setting, int worker);
std::vector<OptionSpec> d_psgd_options();

}  // namespace tandem::sync
