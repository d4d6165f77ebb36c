// The simulations of an ensemble, several at the same time, each in a copy of this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/jobs/simulation.hpp"
#include "workloads/records/ensemble.hpp"

namespace tandem::cli {

/// Simulates the job once, if its decisions do not depend on timing. Otherwise simulates as many replicas as
/// physics.ensemble says, up to `parallel` concurrently, then repeats the one with the median step time for
/// its records; its result directory `out` describes the ensemble, too. Errors: as simulate_job; WorldError
/// when a replica failed; Interrupted.
Simulated simulate_with_ensemble(LoadedJob loaded, SimulateOptions options, const std::string& out,
                                 int parallel);

/// Prints how many simulations these jobs need, before they start; nothing where each is simulated once.
void announce_ensembles(const std::vector<const Experiment*>& experiments);

}  // namespace tandem::cli
