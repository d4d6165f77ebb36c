// The machines whose departures end a generation of a job.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/placement/needed_machines.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Those of the whole job, of which `job` may be a generation with fewer workers.
std::vector<NeededMachine> needed_machines(const Job& job);

/// Machines may depart that end a generation: the job then starts again.
bool has_drawn_generations(const Job& job);
/// The job is launched again when a rank dies: as its experiment says; or in place, where it commits its
/// state, with values or for needed machines that depart.
bool has_generations(const Job& job);
/// In place, only departures of needed machines end a generation; workers come and go while the others
/// continue.
Continuation continuation_of(const Job& job);
/// The hosts of the machines whose departures end a generation: by slot those of all workers, then those of
/// needed machines. In place, the workers' are in the list, too, but end none.
std::vector<std::string> hosts_of_machines(const Job& job);

}  // namespace tandem
