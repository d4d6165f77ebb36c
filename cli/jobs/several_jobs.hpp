// What `tandem simulate` and `tandem run` share where an experiment has several jobs (key `jobs`).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/write_lock.hpp"

namespace tandem::cli {

/// Throws a ConfigError: an option that only experiments of several jobs know.
[[noreturn]] void refuse_one_job(const char* option);

/// The jobs, with their result directories in `out`. Errors: ConfigError when they cannot share a platform.
std::vector<Job> make_jobs(const LoadedJobs& several, const JobOptions& options, const std::string& out);

/// Where each rank of them is in one launch.
JobRanks ranks_of(const LoadedJobs& several, std::span<const Job> jobs);

/// The result directory. `world`: the last part of its default.
std::string directory_of_jobs(const LoadedJobs& several, const JobOptions& options, const std::string& world);

/// Creates the result directory and those of its jobs. While the locks are held, no other process writes
/// there. Errors: ConfigError.
std::vector<WriteLock> create_directories_of_jobs(const LoadedJobs& several, const std::string& out,
                                                  bool force);

/// Writes jobs.json and summary.json from the results of the jobs, together and, if they are there, alone;
/// and prints them. `world`: "simulated" | "measured".
void finish_jobs(const LoadedJobs& several, std::span<const Job> jobs, const std::string& out,
                 const std::string& world);

}  // namespace tandem::cli
