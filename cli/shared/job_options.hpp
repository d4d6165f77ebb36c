// Options shared by simulate, run, calibrate and validate: an experiment, overrides, and the result
// directory.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/check/job_assembly.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct JobOptions {
  std::string experiment_file;
  std::vector<std::string> settings;  ///< --set key=value
  std::string variant;
  std::string job;  ///< name of a job, for load_job on an experiment of several; empty: it is one job
  std::string out;
  bool force = false;
  bool trace = false;
  bool operations = false;
  bool decisions = false;
  bool requests = false;
  bool losses = false;
  int repetition = 0;
  std::string resume;                       ///< result directory of the job to resume; empty: a new job
  std::optional<std::int64_t> resume_from;  ///< round of the checkpoint; none: the latest
};

/// For options that take a number above 0. The message of CLI11's own validator names the largest double.
CLI::Validator above_zero();

/// The option may be repeated. Each time it has one value, never the words after that.
CLI::Option* one_at_a_time(CLI::Option* option);

/// Adds --set and --variant.
void add_override_options(CLI::App& command, JobOptions& options);
/// Records losses if --losses is given. Errors: ConfigError when mathematics is modelled.
void record_losses_if_asked(Job& job, const JobOptions& options);
/// Adds EXPERIMENT, --set, --variant, --out and --force.
void add_experiment_options(CLI::App& command, JobOptions& options);
/// Adds --trace, --operations, --decisions, --requests, --losses and --repetition.
void add_record_options(CLI::App& command, JobOptions& options);

/// Platforms that were loaded, by file: many jobs use a platform that is loaded once.
class PlatformCache final : public PlatformReader {
 public:
  const platforms::Description& platform(const std::string& file) override;
  platforms::Network network(const std::string& file, const std::vector<std::string>& hosts,
                             const std::vector<std::string>& hubs = {}) override;

 private:
  std::map<std::string, platforms::Description> loaded_;
};

/// The job, or the jobs, of the experiment that the options name. Errors: ConfigError.
LoadedExperiment load_jobs(const JobOptions& options);
LoadedExperiment load_jobs(const JobOptions& options, PlatformCache& platforms);
/// Errors: ConfigError, also for an experiment of several jobs where JobOptions::job names none of them.
LoadedJob load_job(const JobOptions& options);
LoadedJob load_job(const JobOptions& options, PlatformCache& platforms);

/// tandem::network_of_workers and tandem::make_job, with the platform file of the experiment.
platforms::Network network_of_workers(const Experiment& experiment);
Job make_job(const LoadedJob& loaded, const std::string& out);

/// "results/NAME/LAST", where a variant "lab/asp" makes two folders.
std::string default_out(const std::string& name, const std::string& last);
/// The command line of this process, quoted for a shell.
std::string command_line();
/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace tandem::cli
