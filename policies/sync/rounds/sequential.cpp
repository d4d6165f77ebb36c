// Sequential SGD (Robbins, Monro, Annals of Mathematical Statistics 1951): one worker alone. It is the
// reference for the accuracy of the parallel algorithms.
#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/rounds/algorithms.hpp"

namespace tandem::sync {

Algorithm sequential() {
  return {.name = "sequential",
          .summary = "one worker alone: the reference for the accuracy of the other algorithms",
          .paper = "Robbins, Monro, Annals of Mathematical Statistics 1951",
          .options = {},
          .make = {.payload = Payload::gradient,
                   .routes = {Route::server, Route::all_reduce},
                   .timing_driven = false,
                   .steps_per_round = one_step,
                   .make_worker = make_worker<GradientWorker>,
                   .make_server = make_server<SampleAverageServer>,
                   .most_workers = 1,
                   .lockstep = true,
                   .membership = by_rounds()}};
}

}  // namespace tandem::sync
