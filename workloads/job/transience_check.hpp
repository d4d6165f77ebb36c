// Which experiments can have machines that depart: the rules of the keys transience and recovery.
#pragma once

#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/experiment_check.hpp"

namespace tandem {

/// Pre: the names and options of the experiment are valid. Errors: ConfigError.
void check_transience(const Experiment& experiment, const Locate& locate);

/// Whether a job that starts again can do so with recovery.least workers. Pre: the placement is known.
/// Errors: ConfigError.
void check_least_workers(const Experiment& experiment, const Locate& locate);

}  // namespace tandem
