// Bulk synchronous parallel SGD (Valiant, CACM 1990; SSGD in Chen et al., arXiv:1604.00981). In every step
// all workers compute a gradient on the same model, wait for each other and continue from the model that the
// mean gradient makes.
#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {

Algorithm bsp() {
  return {
      .name = "bsp",
      .summary = "bulk synchronous: in every step, all workers wait for each other and use the mean gradient",
      .paper = "Valiant, CACM 1990; Chen et al., arXiv:1604.00981",
      .options = {},
      .make = {.payload = Payload::gradient,
               .routes = {Route::server, Route::all_reduce},
               .timing_driven = false,
               .steps_per_round = one_step,
               .make_worker = make_worker<GradientWorker>,
               .make_server = make_server<SampleAverageServer>,
               .lockstep = true,
               .membership = by_rounds()}};
}

}  // namespace tandem::sync
