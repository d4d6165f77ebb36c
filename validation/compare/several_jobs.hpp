// Several jobs of one configuration, which shared a platform: the figures of all of them together, simulated
// and measured. Each job is compared as any other (compare.hpp).
#pragma once

#include <string>
#include <vector>

#include "validation/compare/compare.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// The results of one of several jobs, with its figures from the summary of all. Errors: ConfigError.
Results read_job(const std::string& directory, const std::string& job);

struct SeveralJobs {
  struct Job {
    std::string name;
    double start_s = 0;
  };
  std::string name;  ///< of the configuration
  std::vector<Job> jobs{};
  /// "makespan" of all. If the jobs were also alone: "jain_index", and the least and the largest slow-down.
  /// If they share a cache: its hit ratios. Only figures that the simulation and all measurements have.
  std::vector<Figure> figures{};
};

/// `simulated`, `measured`: summaries of all jobs. Pre: at least one is measured.
SeveralJobs compare_jobs(const std::string& name, const JobsSummary& simulated,
                         const std::vector<JobsSummary>& measured);

}  // namespace tandem::validation
