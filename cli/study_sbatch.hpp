// A study as a job array of Slurm.
#pragma once

#include <string>

#include "cli/study_results.hpp"
#include "validation/campaign/suite.hpp"

namespace tandem::cli {

struct SbatchOptions {
  int chunk = 50;  ///< configurations of a task
  int cpus = 2;    ///< of a task
  std::string time = "01:00:00";
  std::string memory = "4G";
  std::string partition;  ///< empty: the site's default
};

/// Prints a script for sbatch. Errors: ConfigError for values that are no words of such a script.
void print_sbatch(const validation::Suite& suite, const StudyManifest& manifest, const SbatchOptions& options,
                  const std::string& out);

}  // namespace tandem::cli
