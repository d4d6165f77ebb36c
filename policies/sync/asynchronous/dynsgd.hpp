// DynSGD (Jiang, Cui, Zhang, Yu, SIGMOD 2017): a push that is d updates old counts 1/(d + 1), in the loop of
// SSP. Versions are numbers of updates (the paper's other count, by clocks, is not offered, and its constants
// were not checked against it); by default no worker is ever held, so it is ASP with scaled updates.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<ServerPolicy> make_dynsgd_server(const Setting& setting);
std::vector<OptionSpec> dynsgd_options();

}  // namespace tandem::sync
