// Which experiments can read and cache their data as they say: the rules of the key data.
#pragma once

#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/experiment_check.hpp"

namespace tandem {

/// Pre: the names and options of the experiment are valid. Errors: ConfigError.
void check_data(const Experiment& experiment, const Locate& locate);

}  // namespace tandem
