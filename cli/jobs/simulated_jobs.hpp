// `tandem simulate` of several jobs on one platform.
#pragma once

#include "cli/jobs/simulation.hpp"
#include "cli/shared/job_options.hpp"

namespace tandem::cli {

/// Simulates each job alone, unless SimulateOptions::together_only, and all of them together. Errors:
/// ConfigError, WorldError.
void simulate_jobs(LoadedJobs several, const SimulateOptions& options);

}  // namespace tandem::cli
