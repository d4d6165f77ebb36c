// Prints a job before it starts.
#pragma once

#include <span>

#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

/// The job in a few lines on standard output; warnings, of a lack of memory too, on standard error.
void print_job(const Job& job);
/// The same for several jobs that run concurrently. `ranks`: their ranks.
void print_jobs(std::span<const Job> jobs, const JobRanks& ranks);

/// Errors: ConfigError naming the hosts whose ranks need more memory than the platform file gives them.
void require_memory(const Job& job);
void require_memory(std::span<const Job> jobs, const JobRanks& ranks);

}  // namespace tandem::cli
