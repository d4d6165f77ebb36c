// K-sync SGD with backup workers (Chen, Pan, Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous
// SGD", arXiv:1604.00981; Dutta et al., AISTATS 2018): a round ends when the first K gradients of the current
// model are in; the pushes of the slowest come too late, are dropped, and their workers start over from the
// current model. A late worker finishes its step (nothing in the seam interrupts one). The papers' number of
// backup workers, about 4 to 5 % of all, was not checked against them, so by default there is none.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Errors: OptionError when k is more than the number of workers.
std::unique_ptr<ServerPolicy> make_k_sync_server(const Setting& setting);

}  // namespace tandem::sync
