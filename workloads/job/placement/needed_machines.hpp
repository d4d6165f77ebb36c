// The machines that every launch of a job needs and that may depart: those of servers, of the coordinator,
// of the steward and of other ranks that are no workers.
#pragma once

#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// A machine on which no worker runs. When it departs, all ranks start again from the last commit.
struct NeededMachine {
  std::string host;
  std::string roles;  ///< of its ranks, for the user: "server and steward"
};

/// The machines on hosts with a lifetime of their own (property tandem:lifetime); key transience.lifetime is
/// for workers' machines alone. In the order of ranks. None if workers recover in place without commits:
/// there would be no state to start from. `experiment`: with all workers.
std::vector<NeededMachine> needed_machines(const Experiment& experiment,
                                           const platforms::Description& platform);

}  // namespace tandem
