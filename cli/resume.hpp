// Going on with the job of another result directory: what `tandem run --resume` and `tandem simulate
// --resume` share.
#pragma once

#include <string>

#include "cli/job_options.hpp"
#include "workloads/job/job.hpp"

namespace tandem::cli {

/// Adds --resume and --resume-from, and lets --resume stand in for EXPERIMENT.
void add_resume_options(CLI::App& command, JobOptions& options);

/// The experiment that was given, or that of the directory to go on with. Errors: ConfigError.
LoadedJob load_job_or_resumed(const JobOptions& options);

/// Where results go. Errors: ConfigError when that would replace what is to be read.
std::string result_directory_of(const JobOptions& options, const Experiment& experiment,
                                const std::string& world);

/// With --resume: lets the job go on from the directory's newest whole checkpoint, or that of --resume-from,
/// and says so. Errors: ConfigError when there is none, or the job is another one, has ended, or could not be
/// told from the one that goes on.
void resume_if_asked(Job& job, const JobOptions& options);

/// Writes job.json, which tandem-rank and --resume read. Errors: WorldError.
void write_document(const std::string& out, const Job& job);

}  // namespace tandem::cli
