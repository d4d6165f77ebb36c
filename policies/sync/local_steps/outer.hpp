// Local SGD whose mean change goes through an optimiser of its own, which FedAvg (McMahan et al., AISTATS
// 2017), SlowMo (Wang et al., ICLR 2020) and DiLoCo (Douillard et al., arXiv:2311.08105) are settings of.
// Decides as local SGD does; what differs is the update.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Defaults of the options; each remains an option whatever the name of the algorithm.
struct OuterDefaults {
  std::int64_t h;
  double rate;
  double momentum;
  bool nesterov;
  std::string weights;
};
std::vector<OptionSpec> outer_options(const OuterDefaults& defaults);
UpdateRule outer_update(const Setting& setting);
/// The same, whose momentum follows the learning rate of local steps.
UpdateRule slowmo_update(const Setting& setting);

}  // namespace tandem::sync
