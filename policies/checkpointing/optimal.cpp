// The interval with the least expected time per second of work where failures are exponential, from the exact
// cost function of Daly (2006) by Lambert's function. Downtime and load time do not change it.
#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {

Entry optimal() {
  return interval_entry<optimal_interval>(
      "optimal", "the interval with the least expected time per second of work, if age tells nothing",
      "exact minimum of the cost in Daly, FGCS 22(3), 2006");
}

}  // namespace tandem::checkpointing
