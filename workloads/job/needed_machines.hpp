// The machines without which no launch of a job can do, and that may depart: those of servers, of the
// coordinator, of the steward and of other ranks beside the workers.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/job.hpp"

namespace tandem {

/// A machine on which no worker runs. When it departs, all starts again from the last commit.
struct NeededMachine {
  std::string host;
  std::string roles;  ///< of its ranks, for the user: "server and steward"
};

/// Those whose hosts have a lifetime of their own (property tandem:lifetime); key transience.lifetime is that
/// of workers' machines alone. In the order of ranks. Where workers recover in place, none without commits:
/// nothing would be left to start from. `experiment`: with all workers.
std::vector<NeededMachine> needed_machines(const Experiment& experiment,
                                           const platforms::Description& platform);
/// The same of a job, of which `job` may be a generation with fewer workers.
std::vector<NeededMachine> needed_machines(const Job& job);

/// Machines may depart that end a generation: the job then starts again.
bool has_drawn_generations(const Job& job);
/// Only departures of needed machines end a generation; workers come and go while the others continue.
bool recovers_in_place(const Job& job);
/// The hosts of the machines whose departures end a generation: by slot those of all workers, then those of
/// needed machines. In place, the workers' are in the list, too, but end none.
std::vector<std::string> hosts_of_machines(const Job& job);

}  // namespace tandem
