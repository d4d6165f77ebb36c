// What a subcommand prints of a job before it starts.
#pragma once

#include "workloads/job/job.hpp"

namespace tandem::cli {

/// The job in a few lines on standard output; warnings, of a lack of memory too, on standard error.
void print_job(const Job& job);

/// Errors: ConfigError naming the hosts whose ranks need more memory than the platform file gives them.
void require_memory(const Job& job);

}  // namespace tandem::cli
