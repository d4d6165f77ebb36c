// What simulate, run, calibrate and validate have in common: an experiment, overrides, and where results go.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::cli {

struct JobOptions {
  std::string experiment_file;
  std::vector<std::string> settings;  ///< --set key=value
  std::string variant;
  std::string out;
  bool force = false;
  bool trace = false;
  bool operations = false;
  bool decisions = false;
  int repetition = 0;
  std::string resume;                       ///< result directory whose job goes on; empty: a new job
  std::optional<std::int64_t> resume_from;  ///< round of the checkpoint; none: the newest
};

/// For options that take a number above 0; CLI11's own names the largest number there is.
CLI::Validator above_zero();

/// Lets the option be given several times, with one value each: it never takes the words that follow.
CLI::Option* one_at_a_time(CLI::Option* option);

/// Adds --set and --variant.
void add_override_options(CLI::App& command, JobOptions& options);
/// Adds EXPERIMENT, --set, --variant, --out and --force.
void add_experiment_options(CLI::App& command, JobOptions& options);
/// Adds --trace, --operations, --decisions and --repetition.
void add_record_options(CLI::App& command, JobOptions& options);

/// An experiment with its platform, checked against each other.
struct LoadedJob {
  Experiment experiment;
  platforms::Description platform;
};
/// Errors: ConfigError.
LoadedJob load_job(const JobOptions& options);

/// The network between the workers' hosts, for those settings of an all-reduce that depend on it; else
/// nothing is known of it. Errors: ConfigError.
platforms::Network network_of_workers(const LoadedJob& loaded);

/// "results/NAME/LAST", where a variant "lab/asp" makes two folders.
std::string default_out(const Experiment& experiment, const std::string& last);
/// The command line of this process, quoted for a shell.
std::string command_line();
/// Now, as ISO 8601 in UTC.
std::string timestamp();

}  // namespace tandem::cli
