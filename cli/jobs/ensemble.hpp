// The simulations of an ensemble, several at the same time, each in a copy of this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/jobs/simulation.hpp"
#include "workloads/records/ensemble.hpp"

namespace tandem::cli {

/// Simulates the job, or, if its decisions depend on timing, as many replicas as physics.ensemble says, up to
/// `parallel` concurrently, and then the one with the median step time again for its records: its result
/// directory `out` describes the ensemble too. Errors: as simulate_job; WorldError when a replica failed;
/// Interrupted.
Simulated simulate_with_ensemble(LoadedJob loaded, SimulateOptions options, const std::string& out,
                                 int parallel);

/// Says how many simulations these jobs become, before they start; nothing where each is simulated once.
void announce_ensembles(const std::vector<const Experiment*>& experiments);

}  // namespace tandem::cli
