// A study as a job array of Slurm.
#pragma once

#include <string>

#include "cli/machines/sbatch.hpp"
#include "cli/studies/study_results.hpp"
#include "validation/campaign/suite.hpp"

namespace tandem::cli {

struct ArrayOptions {
  SbatchOptions sbatch;
  int chunk = 50;  ///< configurations of a task
  int cpus = 2;    ///< of a task
};

/// The script. Errors: ConfigError.
std::string study_script(const validation::Suite& suite, const StudyManifest& manifest,
                         const ArrayOptions& options, const std::string& out);

}  // namespace tandem::cli
