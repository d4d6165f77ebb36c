// Local SGD (Stich, ICLR 2019; McMahan et al., AISTATS 2017). Each worker takes H local steps, then all
// workers average the changes of their models. H = 1 with plain SGD is BSP.
#include "policies/sync/local_steps/algorithms.hpp"
#include "policies/sync/local_steps/outer_momentum.hpp"

namespace tandem::sync {

Algorithm local_sgd() {
  return {.name = "local-sgd",
          .summary = "H local steps, then all workers average the changes of their models",
          .paper = "Stich, ICLR 2019; McMahan et al., AISTATS 2017",
          .options = {{.name = "h",
                       .summary = "local steps between averages",
                       .default_value = std::int64_t{4},
                       .minimum = 1},
                      weights_option()},
          .make = changes_every_h_steps(plain_update)};
}

}  // namespace tandem::sync
