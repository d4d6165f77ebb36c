// EASGD (Zhang, Choromanska, LeCun, NIPS 2015): after tau local steps each worker's model and a common centre
// pull each other, all together (the synchronous form) or each by itself. Decides as local SGD or ASP do;
// what differs is that workers keep models of their own.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_easgd_worker(const Setting& setting, int worker);
std::unique_ptr<ServerPolicy> make_easgd_server(const Setting& setting);
UpdateRule easgd_update(const Setting& setting);
/// Errors: OptionError when a worker would give up all of its distance to the centre.
UpdateRule easgd_async_update(const Setting& setting);
int easgd_steps(const Options& options);
std::vector<OptionSpec> easgd_options();

}  // namespace tandem::sync
