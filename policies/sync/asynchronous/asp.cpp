// ASP, asynchronous parallel SGD (Dean et al., NIPS 2012). Each gradient is applied on arrival and answered
// with the new model. On average, a gradient is as many updates old as there are other workers.
#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/arrival_server.hpp"
#include "policies/sync/common/entry_parts.hpp"

namespace tandem::sync {

Algorithm asp() {
  Factory make = gradients_answered_at_once<ArrivalServer>();
  make.decides_by_part = true;
  return {.name = "asp",
          .summary = "asynchronous: each gradient is applied on arrival, no worker waits",
          .paper = "Dean et al., NIPS 2012",
          .options = {},
          .make = make};
}

}  // namespace tandem::sync
