// `tandem run` of several jobs on one platform, in one mpirun.
#pragma once

#include "cli/jobs/run_launch.hpp"
#include "cli/shared/job_options.hpp"

namespace tandem::cli {

/// Runs all jobs together. With RunOptions::alone, then runs each of them alone. Returns the exit code.
/// Errors: ConfigError, WorldError.
int run_jobs(LoadedJobs several, const RunOptions& options);

}  // namespace tandem::cli
