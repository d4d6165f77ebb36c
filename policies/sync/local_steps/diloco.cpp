// DiLoCo (Douillard et al., arXiv:2311.08105). Local SGD with hundreds of local steps in a round; an outer
// optimiser with Nesterov momentum applies the mean change.
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"

namespace tandem::sync {

Algorithm diloco() {
  return {.name = "diloco",
          .summary = "hundreds of local steps per round, then Nesterov momentum on the mean change",
          .paper = "Douillard et al., arXiv:2311.08105",
          .options =
              outer_options({.h = 500, .rate = 0.7, .momentum = 0.9, .nesterov = true, .weights = "uniform"}),
          .make = changes_every_h_steps(outer_update)};
}

}  // namespace tandem::sync
