// A job that starts again when a rank dies or a machine departs, launch by launch in one result directory, in
// simulation (of departures) and measurement.
#pragma once

#include <string>

#include "workloads/job/plan/job.hpp"
#include "workloads/membership/generations/generation_world.hpp"
#include "workloads/membership/generations/next_generation.hpp"

namespace tandem {

/// Whether has_generations. If so, gives the job its first generation.
bool begin_generations(Job& job);

/// Launches the job until it ends, at most recovery.restarts times more than once. Each launch continues
/// from the latest complete checkpoint, with the workers that have a machine. Pauses grow while no launch
/// reaches another checkpoint. Prints each restart. `job` is then its last generation. `out`: its result
/// directory, with its document. Pre: begin_generations(job). Errors: as the launches.
GenerationResult launch_generations(Job& job, const std::string& out, GenerationWorld& world,
                                    const NetworkOf& network_of);

/// After the job has ended successfully: removes what only a next generation would need.
void remove_generation_files(const Job& job, const std::string& out);

}  // namespace tandem
