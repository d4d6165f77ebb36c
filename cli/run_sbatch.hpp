// A run on several machines as a job of Slurm.
#pragma once

#include <string>

#include "cli/job_options.hpp"
#include "cli/sbatch.hpp"
#include "workloads/job/job.hpp"

namespace tandem::cli {

struct RunSbatchOptions {
  SbatchOptions sbatch;
  int gpus = 0;          ///< of a node
  double grace_s = 0.0;  ///< see --grace; 0: the job cannot commit when it is asked to end
};

/// The script: each host of the platform that has ranks becomes a node. Errors: ConfigError.
std::string run_script(const Job& job, const JobOptions& job_options, const RunSbatchOptions& options,
                       const std::string& out);

}  // namespace tandem::cli
