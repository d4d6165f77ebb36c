// The algorithms of this folder: workers exchange their gradients in rounds. One file each.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

Algorithm sequential();
Algorithm bsp();
Algorithm k_sync();
Algorithm k_batch_sync();
Algorithm lb_bsp();
Algorithm rennala();

}  // namespace tandem::sync
