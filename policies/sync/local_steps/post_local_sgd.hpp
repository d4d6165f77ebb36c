// Post-local SGD (Lin et al., ICLR 2020): all average after every step in the first rounds, and after H local
// steps each from then on. The paper switches at the first decay of the learning rate; here the switch is a
// round. The first rounds are Local SGD with H = 1, which is BSP where the optimiser has no momentum of its
// own at each worker. Over the server only, because an all-reduce counts its samples by equal rounds.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_post_local_sgd_worker(const Setting& setting, int worker);
std::vector<OptionSpec> post_local_sgd_options();

}  // namespace tandem::sync
