// AdaComm (Wang, Joshi, SysML 2019): local SGD that starts with many local steps and takes fewer as the loss
// falls, since rare averages are quick at first and frequent ones end at a lower loss; where the learning
// rate falls as well, it takes away fewer of them.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_adacomm_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_adacomm_server(const Setting& setting);
std::vector<OptionSpec> adacomm_options();

}  // namespace tandem::sync
