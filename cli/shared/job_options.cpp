#include "cli/shared/job_options.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "cli/shared/shipped.hpp"
#include "platforms/load.hpp"
#include "platforms/neighbours.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "validation/campaign/suite_file.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/placement/cache_rates.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"

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

const platforms::Description& PlatformCache::load(const std::string& file) {
  const auto known = loaded_.find(file);
  return known != loaded_.end() ? known->second
                                : loaded_.emplace(file, platforms::load_platform(file)).first->second;
}

LoadedJob load_job(const JobOptions& options) {
  PlatformCache platforms;
  return load_job(options, platforms);
}

namespace {

/// `load`: load_located, or load_located_job.
LocatedExperiment locate_experiment(const JobOptions& options, decltype(load_located)& load) {
  Overrides overrides;
  for (const auto& setting : options.settings) overrides.push_back(parse_override(setting));
  try {
    return load(options.experiment_file, overrides, options.variant);
  } catch (const ConfigError&) {
    if (!validation::is_suite(options.experiment_file)) throw;
    throw ConfigError(
        options.experiment_file +
        ": this is a suite; `tandem study` simulates it, `tandem validate` also runs it, and --list "
        "prints the names of its configurations");
  }
}

LoadedJob placed(Experiment experiment, const Locate& locate, PlatformCache& platforms) {
  platforms::Description platform = platforms.load(experiment.platform);
  resolve_placement(experiment, platform, locate);
  const auto hosts = hosts_of_cache_rates(experiment);
  set_cache_rates(experiment, platform,
                  hosts.empty() ? platforms::Network{} : platforms::load_network(experiment.platform, hosts));
  const bool devices_are_given = locate("run.devices").is_given;
  return {std::move(experiment), std::move(platform), devices_are_given, locate};
}

}  // namespace

LoadedJob load_job(const JobOptions& options, PlatformCache& platforms) {
  if (!options.job.empty()) {
    if (auto several = load_jobs(options, platforms))
      for (auto& one : several->jobs)
        if (one.name == options.job) return std::move(one.loaded);
    throw ConfigError(options.experiment_file + ": expected a job '" + options.job + "', found none");
  }
  LocatedExperiment located = locate_experiment(options, load_located_job);
  if (located.experiment.data.shared) {
    const Origin origin = located.locate("data.shared");
    fail(origin.place, origin.label,
         "false, because the experiment has only one job (several jobs: key jobs)", "'true'");
  }
  return placed(std::move(located.experiment), located.locate, platforms);
}

std::optional<LoadedJobs> load_jobs(const JobOptions& options) {
  PlatformCache platforms;
  return load_jobs(options, platforms);
}

std::optional<LoadedJobs> load_jobs(const JobOptions& options, PlatformCache& platforms) {
  if (!options.resume.empty() || options.experiment_file.empty()) return std::nullopt;
  LocatedExperiment located = locate_experiment(options, load_located);
  if (located.jobs.empty()) return std::nullopt;
  LoadedJobs loaded;
  for (LocatedJob& job : located.jobs)
    loaded.jobs.push_back({std::move(job.name), job.start, std::move(job.overrides),
                           placed(std::move(job.experiment), job.locate, platforms)});
  loaded.experiment = std::move(located.experiment);
  return loaded;
}

Job make_job(LoadedJob loaded, const std::string& out, const platforms::Network& network) {
  try {
    Job job(std::move(loaded.experiment), std::move(loaded.platform), out, network);
    job.data().check_cache_options(static_cast<int>(job.roster().ranks_of(Roster::Role::cache_node).size()));
    return job;
  } catch (const KeyError& error) {
    if (!loaded.locate) throw;
    const Origin origin = loaded.locate(error.key());
    fail(origin.place, origin.label, error.expected(), error.found());
  }
}

Job make_job(const LoadedJob& loaded, const std::string& out) {
  return make_job(loaded, out, network_of_workers(loaded));
}

void compute_natively_by_default(LoadedJob& loaded) {
  if (!loaded.devices_are_given && loaded.experiment.workload.math == Experiment::Workload::Math::real)
    loaded.experiment.run.devices = DeviceSpeed::native;
}

platforms::Network network_of_workers(const LoadedJob& loaded) {
  const auto& sync = loaded.experiment.sync;
  const auto& placement = loaded.experiment.placement;
  // Both compare predicted times; `native` does so where no calibration measured it.
  const bool priced = sync.collective == cheapest_all_reduce || sync.collective == native_all_reduce;
  const bool depends =
      sync.order != WorkerOrder::rank || sync.collective == "hierarchical" || sync.rings != 1 || priced;
  if (sync.over != sync::Route::all_reduce || !depends) return {};
  std::vector<std::string> hosts;
  for (const auto* of : {&placement.workers, &placement.spares})
    for (const auto& host : *of)
      if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  if (hosts.size() < 2 && !priced) return {};
  return platforms::load_network(loaded.experiment.platform, hosts);
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
