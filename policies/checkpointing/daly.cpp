// Daly's interval (FGCS 22(3), 2006): Young's with two further terms of a series, and the time between
// failures itself where commits take at least twice that time.
#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {

Entry daly() {
  return interval_entry<daly_interval>(
      "daly", "like young, with terms of higher order, so that it also fits long commits",
      "Daly, A Higher Order Estimate of the Optimum Checkpoint Interval for Restart Dumps. FGCS 22(3), 2006");
}

}  // namespace tandem::checkpointing
