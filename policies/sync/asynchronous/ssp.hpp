// Stale synchronous parallel (Ho et al., NIPS 2013): each push is applied on arrival, but a worker starts its
// next step only when it is at most s steps ahead of the slowest. With s = 0 workers wait for each other as
// in BSP, without bound it is ASP. With `average` each push counts 1/P, so that a clock of all P moves the
// model as one BSP step does: ConSGD (Jiang et al., SIGMOD 2017).
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_ssp_server(const Setting& setting);
std::vector<OptionSpec> ssp_options();

}  // namespace tandem::sync
