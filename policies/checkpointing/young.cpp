// Young's interval (CACM 17(9), 1974): sqrt(2 C mtbf), which minimises the loss to first order. Close to the
// optimum where commits are short against the time between failures; too long where they are not.
#include "policies/checkpointing/interval.hpp"
#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {

Entry young() {
  return interval_entry<young_interval>(
      "young", "every sqrt(2 C M) seconds of work (C: cost of a commit, M: time between failures of the job)",
      "Young, A First Order Approximation to the Optimum Checkpoint Interval. CACM 17(9), 1974");
}

}  // namespace tandem::checkpointing
