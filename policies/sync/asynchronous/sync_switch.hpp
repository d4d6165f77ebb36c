// Sync-Switch (Li, Mangoubi, Xu, Guo, ICDCS 2021): BSP for the first part of the job, ASP for the rest. Its
// policies for stragglers are not offered.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_sync_switch_server(const Setting& setting);
std::vector<OptionSpec> sync_switch_options();

}  // namespace tandem::sync
