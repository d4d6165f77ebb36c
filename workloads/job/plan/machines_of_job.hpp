// The machines whose departures end a generation of a job.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/placement/needed_machines.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The needed machines of the whole job; `job` may be a generation with fewer workers.
std::vector<NeededMachine> needed_machines(const Job& job);

/// Some departures of machines end a generation: the job then starts again.
bool has_drawn_generations(const Job& job);
/// The job is launched again when a rank dies: by its experiment; or because it recovers in place and
/// commits its state, with values or because needed machines depart.
bool has_generations(const Job& job);
/// In place, only departures of needed machines end a generation; workers come and go while the others
/// continue.
Continuation continuation_of(const Job& job);
/// The hosts of the machines whose departures end a generation: those of all workers by slot, then those of
/// needed machines. In place, the list has the workers' hosts, too, but their departures end no generation.
std::vector<std::string> hosts_of_machines(const Job& job);

}  // namespace tandem
