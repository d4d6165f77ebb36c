// Several jobs of one configuration, which shared a platform: what their results say of all of them together,
// simulated and measured. Each job is compared as any other (compare.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "validation/compare/compare.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// In the summary of a job that was read by read_job: what summary.json of all jobs says of it.
inline constexpr const char* several_jobs_key = "several_jobs";

/// The summary of all jobs in a directory. Errors: ConfigError.
nlohmann::json read_summary_of_jobs(const std::string& directory);
/// The results of one of several jobs, whose summary then also says how long the job took alone, if it was.
/// Errors: ConfigError.
Results read_job(const std::string& directory, const std::string& job);

struct SeveralJobs {
  struct Job {
    std::string name;
    double start_s = 0;
  };
  std::string name;  ///< of the configuration
  std::vector<Job> jobs{};
  /// "makespan" of all; where the jobs were also alone "jain_index" and the least and the largest slow-down;
  /// where they share a cache its hit ratios. Only what the simulation and all measurements have.
  std::vector<Figure> figures{};
};

/// `simulated`, `measured`: summaries of all jobs. Pre: at least one is measured.
SeveralJobs compare_jobs(const std::string& name, const nlohmann::json& simulated,
                         const std::vector<nlohmann::json>& measured);

}  // namespace tandem::validation
