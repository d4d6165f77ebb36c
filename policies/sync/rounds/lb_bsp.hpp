// LB-BSP (Chen et al., SoCC 2020): BSP whose batches are shared out anew after each round so that all finish
// together: in proportion to the workers' speeds, or by lines of time over batch. The global batch stays, and
// each gradient counts by its batch. The paper predicts processors' speeds from their load as well, which no
// event tells.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_lb_bsp_server(const Setting& setting);
std::vector<OptionSpec> lb_bsp_options();

}  // namespace tandem::sync
