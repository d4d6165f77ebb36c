// LB-BSP (Chen et al., SoCC 2020): BSP whose batches are shared out anew after each round in proportion to
// the workers' speeds, so that all finish together. The global batch stays, and each gradient counts by its
// batch.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_lb_bsp_server(const Setting& setting);
std::vector<OptionSpec> lb_bsp_options();

}  // namespace tandem::sync
