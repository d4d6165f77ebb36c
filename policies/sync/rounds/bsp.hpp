// Bulk synchronous parallel SGD (Valiant, CACM 1990; SSGD in Chen et al., arXiv:1604.00981): all workers step
// together on the mean gradient.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_bsp_server(const Setting& setting);

}  // namespace tandem::sync
