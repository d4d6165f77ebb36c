// Resuming the job of another result directory: shared by `tandem run --resume` and `tandem simulate
// --resume`.
#pragma once

#include <string>

#include "cli/shared/job_options.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

/// Adds --resume and --resume-from; --resume may replace EXPERIMENT.
void add_resume_options(CLI::App& command, JobOptions& options);

/// The given experiment, or that of the directory to resume (one job). Errors: ConfigError.
LoadedExperiment load_or_resumed(const JobOptions& options);

/// The result directory. Errors: ConfigError when it would overwrite the directory to resume.
std::string result_directory_of(const JobOptions& options, const Experiment& experiment,
                                const std::string& world);

/// With --resume: prepares the job to resume from the latest complete checkpoint, or that of --resume-from,
/// and prints which one. Errors: ConfigError when there is no such checkpoint, it is of another job, or the
/// job still runs or has finished.
void resume_if_asked(Job& job, const JobOptions& options);

}  // namespace tandem::cli
