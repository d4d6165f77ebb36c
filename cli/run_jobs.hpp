// `tandem run` of several jobs on one platform, in one mpirun.
#pragma once

#include "cli/job_options.hpp"
#include "cli/run_launch.hpp"

namespace tandem::cli {

/// Runs all jobs together, and with RunOptions::alone then each of them alone. Returns the exit code. Errors:
/// ConfigError, WorldError.
int run_jobs(LoadedJobs several, const RunOptions& options);

}  // namespace tandem::cli
