// K-batch-sync SGD (Dutta et al., AISTATS 2018): as K-sync, but a worker that has pushed takes another batch
// on the same model until K gradients of it are in, so K may exceed the number of workers. In the paper the
// others then restart at once; here they finish their batch, which comes too late and is dropped (nothing in
// the seam interrupts a step). Details were not checked against the paper.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_k_batch_sync_server(const Setting& setting);

}  // namespace tandem::sync
