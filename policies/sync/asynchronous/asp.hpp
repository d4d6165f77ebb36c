// Asynchronous SGD (Dean et al., NIPS 2012): each push is applied on arrival and answered with the model as
// it then is, so a gradient is on average as many updates old as there are other workers.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_asp_server(const Setting& setting);

}  // namespace tandem::sync
