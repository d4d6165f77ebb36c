// Which jobs are predicted as a distribution, by an ensemble of simulations: those of several workers whose
// decisions depend on timing. The phases of their workers, and so their step times, depend on small
// differences of starts and delays. One simulation is therefore one of many possible outcomes.
#pragma once

#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

inline constexpr int least_replicas = 4;

/// Number of replicas of its simulation (physics.ensemble); 0: a single simulation. Replicas of real
/// mathematics are modelled, if that changes no time.
int replicas_of(const Experiment& experiment);

/// Why a job whose decisions depend on timing has a single simulation though physics.ensemble asks for more;
/// empty: it has an ensemble, or needs none.
std::string no_ensemble_reason(const Experiment& experiment);

/// Whether the computing times of steps vary by the spread of the devices in this simulation of the job: by
/// physics.noise, or because it is a replica (a repetition above 0 of a job with an ensemble) without a
/// profile's noise.
bool draws_spread(const Experiment& experiment, int repetition);
/// Whether its workers also start at drawn times, which only replicas do.
bool draws_starts(const Experiment& experiment, int repetition);

}  // namespace tandem
