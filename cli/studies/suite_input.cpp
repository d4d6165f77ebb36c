#include "cli/studies/suite_input.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/jobs/several_jobs.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "validation/campaign/suite_file.hpp"
#include "validation/campaign/sweep.hpp"

namespace tandem::cli {
namespace {

validation::Suite suite_of(const JobOptions& job) {
  if (!validation::is_suite(job.experiment_file))
    return validation::suite_of_experiment(job.experiment_file, job.settings, job.variant);
  if (!job.variant.empty())
    throw ConfigError("--variant applies to an experiment; use --only to pick configurations of a suite");
  return validation::load_suite(job.experiment_file, job.settings);
}

/// Finds bad input in any configuration before anything is written or started.
void check_configurations(const validation::Suite& suite, PlatformCache& platforms) {
  ProgressBar bar("check " + suite.name);
  double checked = 0;
  for (const auto& configuration : suite.configurations) {
    JobOptions job;
    job.experiment_file = configuration.experiment_file;
    job.settings = configuration.settings;
    job.variant = configuration.variant;
    try {
      const LoadedExperiment loaded = load_jobs(job, platforms);
      // Whether the jobs can share a platform.
      if (const auto* several = std::get_if<LoadedJobs>(&loaded)) make_jobs(*several, job, "");
      bar.update(++checked / static_cast<double>(suite.configurations.size()));
    } catch (const ConfigError& error) {
      if (!suite.has_grid) throw;
      throw ConfigError(fmt::format("configuration '{}': {}", configuration.name, error.what()));
    }
  }
}

}  // namespace

void add_suite_options(CLI::App& command, SuiteInputOptions& options) {
  command.get_option("EXPERIMENT")->description("Experiment or suite file (YAML)");
  one_at_a_time(command.add_option(
                    "--only", options.only,
                    "Only the configuration NAME, or all whose names begin with NAME/, or of several jobs "
                    "the one of CONFIGURATION/JOB; may be repeated"))
      ->type_name("NAME");
  command.add_flag("--list", options.list, "Print the names of the configurations and stop");
}

validation::Suite read_suite(const JobOptions& job, const SuiteInputOptions& options) {
  PlatformCache platforms;
  return read_suite(job, options, platforms);
}

validation::Suite read_suite(const JobOptions& job, const SuiteInputOptions& options,
                             PlatformCache& platforms) {
  validation::Suite suite = suite_of(job);
  validation::keep_only(suite, options.only);
  if (!options.list) check_configurations(suite, platforms);
  if (!suite.replaced.empty())
    print_note(
        fmt::format("--set replaces {}: variants that differ in nothing else are now equal; to change what "
                    "they have in common alone, edit the file",
                    fmt::join(suite.replaced, ", ")));
  return suite;
}

void print_names(const validation::Suite& suite) {
  std::vector<std::string> names;
  for (const auto& configuration : suite.configurations) names.push_back(configuration.name);
  print_document({{"configurations", names}});
  for (const auto& configuration : suite.configurations)
    fmt::print("{}{}\n", configuration.name, configuration.calibration ? "  (calibration set)" : "");
}

void print_contents(const validation::Suite& suite) {
  nlohmann::json all = nlohmann::json::object();
  std::vector<std::string> names;
  for (const auto& configuration : suite.configurations) {
    names.push_back(configuration.name);
    all[configuration.name] = validation::content_hash(configuration);
    fmt::print("{}  {}\n", configuration.name, validation::content_hash(configuration));
  }
  print_document({{"configurations", names}, {"hashes", all}});
}

std::vector<std::string> words_for(const std::string& what,
                                   const validation::SuiteConfiguration& configuration,
                                   const std::vector<std::string>& settings) {
  std::vector<std::string> words = {what, configuration.experiment_file};
  if (!configuration.variant.empty()) words.insert(words.end(), {"--variant", configuration.variant});
  for (const auto& setting : settings) words.insert(words.end(), {"--set", setting});
  return words;
}

std::string command_of(const std::vector<std::string>& words) {
  std::string text = "tandem";
  for (const auto& word : words) text += ' ' + shell_word(word);
  return text;
}

}  // namespace tandem::cli
