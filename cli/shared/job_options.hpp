// Options shared by simulate, run, calibrate and validate: an experiment, overrides, and the result
// directory.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/job/check/experiment_check.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem::cli {

struct JobOptions {
  std::string experiment_file;
  std::vector<std::string> settings;  ///< --set key=value
  std::string variant;
  std::string job;  ///< for load_job, of an experiment of several jobs; empty: the experiment is one job
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

/// The option may be repeated and takes one value each time, never the words after it.
CLI::Option* one_at_a_time(CLI::Option* option);

/// Adds --set and --variant.
void add_override_options(CLI::App& command, JobOptions& options);
/// With --losses. Errors: ConfigError when mathematics is modelled.
void record_losses_if_asked(Job& job, const JobOptions& options);
/// Adds EXPERIMENT, --set, --variant, --out and --force.
void add_experiment_options(CLI::App& command, JobOptions& options);
/// Adds --trace, --operations, --decisions, --requests, --losses and --repetition.
void add_record_options(CLI::App& command, JobOptions& options);

/// An experiment with its platform, checked against each other.
struct LoadedJob {
  Experiment experiment;
  platforms::Description platform;
  bool devices_are_given = true;  ///< the experiment says whether devices are emulated (run.devices)
  Locate locate = {};             ///< where its keys were set; empty: unknown
};
/// Real machines compute as fast as they can, unless the experiment says otherwise or has modelled
/// mathematics.
void compute_natively_by_default(LoadedJob& loaded);
/// Platforms that were loaded, by file: many jobs on one platform load it once.
class PlatformCache {
 public:
  /// Errors: ConfigError.
  const platforms::Description& load(const std::string& file);

 private:
  std::map<std::string, platforms::Description> loaded_;
};
/// An experiment of several jobs on one platform.
struct LoadedJobs {
  struct One {
    std::string name;
    Seconds start;
    nlohmann::json overrides;  ///< as in the file
    LoadedJob loaded;
  };
  Experiment experiment;  ///< the keys outside of the jobs, which need not make a job
  std::vector<One> jobs;
};
/// None: the experiment is one job, or a job is resumed. Errors: ConfigError.
std::optional<LoadedJobs> load_jobs(const JobOptions& options);
std::optional<LoadedJobs> load_jobs(const JobOptions& options, PlatformCache& platforms);
/// Errors: ConfigError, also for an experiment of several jobs where JobOptions::job names none of them.
LoadedJob load_job(const JobOptions& options);
LoadedJob load_job(const JobOptions& options, PlatformCache& platforms);

/// The network between the workers' hosts, for all-reduce settings that depend on it; otherwise empty.
/// Errors: ConfigError.
platforms::Network network_of_workers(const LoadedJob& loaded);

/// The job with its results in `out`. Errors: ConfigError; of a key, with the place where it was set.
Job make_job(LoadedJob loaded, const std::string& out, const platforms::Network& network);
/// The same, with network_of_workers().
Job make_job(const LoadedJob& loaded, const std::string& out);

/// "results/NAME/LAST", where a variant "lab/asp" makes two folders.
std::string default_out(const std::string& name, const std::string& last);
/// The command line of this process, quoted for a shell.
std::string command_line();
/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace tandem::cli
