// DC-ASGD (Zheng et al., ICML 2017): asynchronous SGD that corrects each gradient, to first order, for what
// the model has moved since it was computed. Decides as ASP does; what differs is the update.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// With a fixed lambda, and with one that follows the size of the gradients.
UpdateRule dc_asgd_update(const Setting& setting);
UpdateRule dc_asgd_adaptive_update(const Setting& setting);
/// As MXNet ships it: the drift is the last update by any worker, not that since this worker's pull.
UpdateRule dc_asgd_mxnet_update(const Setting& setting);
std::vector<OptionSpec> dc_asgd_options();
std::vector<OptionSpec> dc_asgd_adaptive_options();

}  // namespace tandem::sync
