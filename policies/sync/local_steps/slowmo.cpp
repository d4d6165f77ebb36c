// SlowMo, slow momentum (Wang et al., ICLR 2020). Local SGD with momentum over its rounds; the momentum
// scales with the learning rate of the local steps.
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"

namespace tandem::sync {
namespace {

UpdateRule slowmo_update(const Setting& setting) {
  auto rule = std::get<OuterMomentum>(outer_update(setting));
  rule.follows_learning_rate = true;
  return rule;
}

}  // namespace

Algorithm slowmo() {
  return {.name = "slowmo",
          .summary = "like local-sgd, with momentum over rounds; default momentum and h not from the paper",
          .paper = "Wang et al., ICLR 2020",
          .options =
              outer_options({.h = 12, .rate = 1.0, .momentum = 0.7, .nesterov = false, .weights = "uniform"}),
          .make = changes_every_h_steps(slowmo_update)};
}

}  // namespace tandem::sync
