// Checks that need more than one key: names and options against their catalogues, and settings that exclude
// each other. Knows neither files nor platforms.
#pragma once

#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/origin.hpp"

namespace tandem {

/// Fills in the options of algorithm, compression, sharding, cache policy and split, and checks the
/// experiment. Errors: ConfigError naming place, key, expected and found.
void complete_experiment(Experiment& experiment, const Locate& locate);

}  // namespace tandem
