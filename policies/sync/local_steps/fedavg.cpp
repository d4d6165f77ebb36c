// FedAvg (McMahan et al., AISTATS 2017). Local SGD whose average is weighted by the samples of each worker.
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"

namespace tandem::sync {

Algorithm fedavg() {
  return {.name = "fedavg",
          .summary = "like local-sgd, with an average weighted by samples and an optional outer optimiser",
          .paper = "McMahan et al., AISTATS 2017",
          .options =
              outer_options({.h = 4, .rate = 1.0, .momentum = 0.0, .nesterov = false, .weights = "samples"}),
          .make = changes_every_h_steps(outer_update)};
}

}  // namespace tandem::sync
