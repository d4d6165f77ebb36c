#include "cli/shared/job_options.hpp"

#include <fmt/chrono.h>

#include <ctime>
#include <fstream>
#include <utility>

#include "cli/shared/shipped.hpp"
#include "platforms/load.hpp"
#include "platforms/neighbours.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "validation/campaign/suite_file.hpp"

namespace tandem::cli {

CLI::Validator above_zero() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0.0;
        const bool fine = CLI::detail::lexical_cast(text, value) && value > 0.0;
        return fine ? std::string() : "expected a number above 0, found '" + text + "'";
      },
      "");
}

CLI::Option* one_at_a_time(CLI::Option* option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_override_options(CLI::App& command, JobOptions& options) {
  one_at_a_time(
      command.add_option("--set", options.settings, "Override a key, e.g. --set sync.algorithm=asp"))
      ->type_name("KEY=VALUE");
  command.add_option("--variant", options.variant, "Use this variant of the experiment");
}

void add_experiment_options(CLI::App& command, JobOptions& options) {
  command.add_option("EXPERIMENT", options.experiment_file, "Experiment file (YAML)")
      ->required()
      ->transform(or_shipped());
  add_override_options(command, options);
  command.add_option("--out,-o", options.out, "Result directory [results/NAME/...]");
  command.add_flag("--force", options.force, "Replace existing results in the directory");
}

void add_record_options(CLI::App& command, JobOptions& options) {
  command.add_flag("--trace", options.trace, "Write trace.json (Chrome trace format, opens in Perfetto)");
  command.add_flag("--operations", options.operations, "Write operations.csv: every operation of every rank");
  command.add_flag("--decisions", options.decisions, "Write decisions.csv: every policy event and decision");
  command.add_flag("--requests", options.requests,
                   "Write requests.csv: every sample that cache nodes were asked for; tandem cache "
                   "requests.csv csv POLICIES SIZES -t id-col=3,size-col=4,has-header=true replays it");
  command.add_flag("--losses", options.losses,
                   "Write losses.csv: the loss of every sample, with real mathematics; a job with modelled "
                   "mathematics reads it with --set data.losses=losses.csv");
  command
      .add_option("--repetition", options.repetition,
                  "Number of this repetition, stored in the results; each repetition of a simulation has "
                  "different noise")
      ->check(CLI::Range(0, 1'000'000));
}

void record_losses_if_asked(Job& job, const JobOptions& options) {
  if (!options.losses) return;
  if (!job.real_math())
    throw ConfigError(
        "--losses: expected real mathematics (workload.math), found modelled, which has no losses");
  job.record_losses();
}

const platforms::Description& PlatformCache::platform(const std::string& file) {
  const auto known = loaded_.find(file);
  return known != loaded_.end() ? known->second
                                : loaded_.emplace(file, platforms::load_platform(file)).first->second;
}

platforms::Network PlatformCache::network(const std::string& file, const std::vector<std::string>& hosts,
                                          const std::vector<std::string>& hubs) {
  return platforms::load_network(platform(file), hosts, hubs);
}

namespace {

/// `load`: load_placed, or load_placed_job.
template <class Load>
auto load_by(const Load& load, const JobOptions& options, PlatformReader& platforms) {
  Overrides overrides;
  for (const auto& setting : options.settings) overrides.push_back(parse_override(setting));
  try {
    return load(options.experiment_file, overrides, options.variant, platforms);
  } catch (const ConfigError&) {
    if (!validation::is_suite(options.experiment_file)) throw;
    throw ConfigError(
        options.experiment_file +
        ": this is a suite; `tandem study` simulates it, `tandem validate` also runs it, and --list "
        "prints the names of its configurations");
  }
}

}  // namespace

LoadedExperiment load_jobs(const JobOptions& options) {
  PlatformCache platforms;
  return load_jobs(options, platforms);
}

LoadedExperiment load_jobs(const JobOptions& options, PlatformCache& platforms) {
  return load_by(load_placed, options, platforms);
}

LoadedJob load_job(const JobOptions& options) {
  PlatformCache platforms;
  return load_job(options, platforms);
}

LoadedJob load_job(const JobOptions& options, PlatformCache& platforms) {
  if (options.job.empty()) return load_by(load_placed_job, options, platforms);
  LoadedExperiment all = load_jobs(options, platforms);
  if (auto* several = std::get_if<LoadedJobs>(&all))
    for (auto& one : several->jobs)
      if (one.name == options.job) return std::move(one.loaded);
  throw ConfigError(options.experiment_file + ": expected a job '" + options.job + "', found none");
}

platforms::Network network_of_workers(const Experiment& experiment) {
  PlatformCache platforms;
  return tandem::network_of_workers(experiment, platforms);
}

Job make_job(const LoadedJob& loaded, const std::string& out) {
  return tandem::make_job(loaded, out, network_of_workers(loaded.experiment));
}

std::string default_out(const std::string& name, const std::string& last) {
  return "results/" + name + "/" + last;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    if (!text.empty()) text += ' ';
    text += shell_word(word);
  }
  return text;
}

std::string timestamp() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace tandem::cli
