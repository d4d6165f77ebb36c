// ADSP (Hu, Wang, Wu, AAAI 2020): nobody waits, and all commit their accumulated local updates equally often:
// fast workers take more local steps between two commits. How often, a search over the loss decides.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_adsp_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_adsp_server(const Setting& setting);
std::vector<OptionSpec> adsp_options();

}  // namespace tandem::sync
