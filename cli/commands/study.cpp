// `tandem study`: simulates every configuration of a suite, or every variant of an experiment, and compares
// them in one report. Nothing is run.
#include "validation/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/what_if.hpp"
#include "cli/jobs/priced_jobs.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/platform_drawings.hpp"
#include "cli/studies/study_results.hpp"
#include "cli/studies/study_run.hpp"
#include "cli/studies/study_sbatch.hpp"
#include "cli/studies/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "validation/campaign/sweep.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

struct StudyOptions {
  JobOptions job;
  SuiteInputOptions input;
  int jobs = 0;  ///< simulations in parallel; 0: one per core
  bool in_shards = false;
  std::string shard;  ///< as parse_shard() takes it
  bool only_missing = false;
  bool results = false;  ///< keep the result directory of each configuration
  std::string fidelity = StudyManifest().fidelity;
  ArrayOptions array;
  std::shared_ptr<const ClusterOptions> cluster;
  std::string vary;                  ///< empty: the experiment's variants, or the suite
  std::optional<JobOptions> varied;  ///< of the suite of --vary: the job
  VarySuite vary_suite;              ///< of --vary
};

constexpr int most_jobs = 64;

int jobs_of(const StudyOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_jobs);
}

/// Whether the entry has everything for which the study asks.
bool answers(const StudyEntry& entry, const validation::StudySection& study) {
  if (study.alone && entry.several && !entry.several->jain_index) return false;
  if (!study.stall) return true;
  const auto& least = entry.several ? entry.several->least_capacity : entry.results.front().least_capacity;
  return least && (!*least || (*least)->stall == *study.stall);
}

/// The configurations that are to be simulated now.
std::vector<std::size_t> chosen_of(const validation::Suite& suite, const StudyOptions& options,
                                   const std::optional<validation::Shard>& shard, const std::string& out) {
  auto chosen = validation::configurations_of(suite, shard.value_or(validation::Shard{}));
  if (options.only_missing)
    std::erase_if(chosen, [&](std::size_t i) {
      const auto entry = read_entry(out, suite.configurations[i]);
      return entry && entry->failure.empty() && answers(*entry, suite.study);
    });
  return chosen;
}

/// Entries do not depend on the names that a study gives.
void name_result(const validation::StudyConfiguration& names, validation::StudyResult& result) {
  static_cast<validation::StudyConfiguration&>(result) = names;
}

/// Continues a folder that other shards share, or that an interrupted study left. Of shards that begin
/// together, the first one writes the manifest alone. Until then the others do not see a study in the
/// folder.
WriteLock open_folder(const std::string& out, const StudyOptions& options, const StudyManifest& manifest) {
  if (!options.in_shards && !options.only_missing) {
    WriteLock lock = create_result_directory(out, options.job.force);
    write_manifest(out, manifest);
    return lock;
  }
  if (std::filesystem::exists(out) && !std::filesystem::is_directory(out))
    check_result_directory(out, options.job.force);
  std::filesystem::create_directories(out);
  auto lock = options.in_shards ? WriteLock::if_free(out) : WriteLock(out);
  const bool is_first = lock.has_value();
  if (!is_first) lock.emplace(out, WriteLock::Use::with_job);
  const auto known = read_manifest(out);
  if (!known) check_result_directory(out, options.job.force);
  if (known && known->fidelity != manifest.fidelity)
    throw ConfigError(out + ": holds a study with --fidelity " + known->fidelity + "; choose another --out");
  if (known && known->id != manifest.id && !options.only_missing)
    throw ConfigError(out + ": holds another study (" + study_command(*known) +
                      "); choose another --out, or --only-missing to replace what differs");
  write_manifest(out, manifest);
  if (is_first && options.in_shards) lock->share();
  return std::move(*lock);
}

/// Adds the figures of a configuration of several jobs.
void add_several(const validation::SuiteConfiguration& configuration, StudyEntry entry,
                 std::vector<validation::StudyResult>& results, std::vector<validation::StudyJobs>& several) {
  auto& all = several.emplace_back(std::move(*entry.several));
  all.name = configuration.name;
  if (!all.least_capacity) all.least_capacity.emplace();
  const auto entries = configuration.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!configuration.shown.empty() && !configuration.shown.contains(entries[i].job)) continue;
    const auto names = names_of(entries[i]);
    auto& result = results.emplace_back(std::move(entry.results.at(i)));
    name_result(names, result);
    result.jobs_hash = validation::hash_without_seeds(configuration);
    for (auto& job : all.jobs)
      if (job.job == entries[i].job) job.configuration = names.name;
  }
}

/// The answer of --vary, also as notes of the report.
std::string answer_of_varied(const validation::Suite& suite, const StudyOptions& options,
                             validation::Study& study) {
  const std::string text = vary_text(study.configurations, *options.varied, options.vary_suite);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) study.notes.push_back(line);
  return suite.study.about + "\n\n" + text + '\n';
}

/// Makes the report of a study from the results in some folders. How many configurations have none.
std::size_t report(const validation::Suite& suite, const StudyManifest& manifest,
                   const std::vector<std::string>& folders, const std::string& out,
                   const StudyOptions& options = {}) {
  std::vector<validation::StudyResult> results;
  std::vector<validation::StudyJobs> several;
  std::vector<std::string> lines = {study_command(manifest)};
  std::size_t failures = 0;
  for (const auto& configuration : suite.configurations) {
    std::optional<StudyEntry> found;
    for (const auto& folder : folders)
      if (!found || !found->failure.empty())
        if (auto entry = read_entry(folder, configuration)) found = std::move(entry);
    if (!found) found = StudyEntry{.failure = "not simulated yet; `tandem study --only-missing` does it"};
    if (found->failure.empty()) {
      if (configuration.jobs.empty()) {
        name_result(names_of(configuration), results.emplace_back(std::move(found->results.front())));
      } else {
        add_several(configuration, std::move(*found), results, several);
      }
    } else {
      ++failures;
      results.push_back(validation::failed_study_result(names_of(configuration), found->failure));
    }
    lines.push_back(command_of(words_of(suite, configuration, manifest.fidelity)));
  }
  if (options.varied) name_places(results, options.vary_suite);
  auto study = validation::make_study(std::move(results), suite.name, suite.study, lines);
  study.several_jobs = std::move(several);
  study.platforms = drawings_of(validation::platforms_of(study));
  const std::string text =
      options.varied ? answer_of_varied(suite, options, study) : validation::study_table(study) + '\n';
  validation::write_study(out, study);
  std::filesystem::remove(out + "/INCOMPLETE");
  fmt::print("{}{}/report.html\n", text, out);
  print_document(to_json(study));
  return failures;
}

int end_shard(const validation::Shard& shard, std::size_t simulated, std::size_t failures,
              const std::string& out) {
  fmt::print(
      "shard {}/{}: {} configurations simulated, {} failed; `tandem study merge {}` makes the report of all "
      "shards\n",
      shard.index, shard.count, simulated, failures, shell_word(out));
  print_document({{"shard", fmt::format("{}/{}", shard.index, shard.count)},
                  {"simulated", simulated},
                  {"failed", failures}});
  return failures > 0 ? exit_beyond_tolerance : exit_success;
}

int study(const StudyOptions& options) {
  if (options.job.experiment_file.empty())
    throw ConfigError("study: expected an experiment or suite file, found none");
  if (options.cluster->is_wanted() && options.vary.empty() && !options.varied)
    throw ConfigError("--workers: expected --vary (compression, bandwidth or workers), found none");
  if (options.vary == "compression" && options.fidelity == priced_fidelity)
    throw ConfigError(
        "--vary compression: expected --fidelity transfers, found priced, which has no form for it");
  if (!options.vary.empty()) {
    StudyOptions varied = options;
    varied.vary_suite = write_vary_suite(options.job, *options.cluster, options.vary);
    varied.job.experiment_file = varied.vary_suite.file;
    // The suite's experiment has them.
    varied.job.variant.clear();
    varied.job.settings.clear();
    varied.vary.clear();
    varied.varied = options.job;
    return study(varied);
  }
  PlatformCache platforms;
  const validation::Suite suite = read_suite(options.job, options.input, platforms);
  if (options.input.list) {
    print_contents(suite);
    return exit_success;
  }
  const std::string out = options.job.out.empty() ? default_out(suite.name, "study") : options.job.out;
  const StudyManifest manifest{
      std::filesystem::absolute(options.job.experiment_file).lexically_normal().string(),
      options.job.variant,
      options.job.settings,
      options.input.only,
      validation::study_id(suite),
      options.fidelity};
  if (options.array.sbatch.is_wanted) {
    print_sbatch(study_script(suite, manifest, options.array, out));
    return exit_success;
  }
  std::optional<validation::Shard> shard;
  if (options.in_shards) shard = validation::parse_shard(options.shard);
  const WriteLock lock = open_folder(out, options, manifest);
  auto chosen = chosen_of(suite, options, shard, out);
  const std::size_t count = chosen.size();
  const int jobs = jobs_of(options);
  // Parallel simulations have one core each.
  if (jobs > 1) setenv("OMP_NUM_THREADS", "1", 0);
  StudyRun run(suite, platforms, out, options.results, options.fidelity);
  run.simulate(std::move(chosen), jobs);
  if (shard) return end_shard(*shard, count, run.failures(), out);
  // If the only configuration fails, there is nothing to report.
  if (suite.configurations.size() == 1 && run.first_error()) std::rethrow_exception(run.first_error());
  return report(suite, manifest, {out}, out, options) > 0 ? exit_beyond_tolerance : exit_success;
}

struct MergeOptions {
  std::vector<std::string> folders;
  std::string out;
  bool force = false;
};

int merge(const MergeOptions& options) {
  std::vector<StudyManifest> manifests;
  for (const auto& folder : options.folders) {
    const auto manifest = read_manifest(folder);
    if (!manifest) throw ConfigError(folder + ": expected the folder of a study, found no study.json in it");
    manifests.push_back(*manifest);
    if (manifests.back().id != manifests.front().id ||
        manifests.back().fidelity != manifests.front().fidelity)
      throw ConfigError(fmt::format("{}: expected a part of the study in {} ({}), found another ({})", folder,
                                    options.folders.front(), study_command(manifests.front()),
                                    study_command(manifests.back())));
  }
  const StudyManifest& manifest = manifests.front();
  JobOptions job;
  job.experiment_file = manifest.experiment_file;
  job.variant = manifest.variant;
  job.settings = manifest.settings;
  const validation::Suite suite = read_suite(job, {.only = manifest.only, .list = true});
  if (validation::study_id(suite) != manifest.id)
    throw ConfigError(manifest.experiment_file + ": has changed since the study in " +
                      options.folders.front() +
                      " was simulated; `tandem study --only-missing` simulates what differs");
  const std::string out = options.out.empty() ? options.folders.front() : options.out;
  std::optional<WriteLock> lock;
  if (std::ranges::find(options.folders, out) == options.folders.end()) {
    lock.emplace(create_result_directory(out, options.force));
    write_manifest(out, manifest);
  } else {
    lock.emplace(out);
  }
  return report(suite, manifest, options.folders, out) > 0 ? exit_beyond_tolerance : exit_success;
}

void add_merge(CLI::App& study, int& exit_code) {
  auto* command = study.add_subcommand("merge", "Make one report from the shards of a study");
  const auto options = std::make_shared<MergeOptions>();
  command->add_option("FOLDER", options->folders, "Folders of the shards; one if they shared it")->required();
  command->add_option("--out,-o", options->out, "Folder of the report [the first of the shards]");
  command->add_flag("--force", options->force, "Replace existing results in the folder of the report");
  command->footer(
      "The report is the one that a single process makes, byte for byte. Exit code 1: a configuration failed "
      "or is\n"
      "missing; the report lists it.\n\nExamples:\n"
      "  tandem study merge results/scale/study");
  command->callback([options, &exit_code] { exit_code = merge(*options); });
}

void add_sweep_options(CLI::App& command, StudyOptions& options) {
  constexpr const char* group = "Several processes or machines";
  command
      .add_option(
          "--shard", options.shard,
          "I/N: simulate the I-th of N parts, from 0. /N: the part of this task of an array of Slurm, "
          "PBS or HyperQueue, numbered from 0; without a value, of a Slurm array. `tandem study merge` "
          "makes the report")
      ->expected(0, 1)
      ->type_name("I/N")
      ->group(group);
  command
      .add_flag("--only-missing", options.only_missing,
                "Continue: simulate only what the folder lacks, what failed, and what changed")
      ->group(group);
  add_sbatch_options(command, options.array.sbatch, "simulates the study as a job array", group);
  command.add_option("--chunk", options.array.chunk, "Of the script: configurations of a task [50]")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(command.get_option("--print-sbatch"))
      ->group(group);
  command.add_option("--cpus", options.array.cpus, "Of the script: cores of a task [2]")
      ->check(CLI::Range(1, 4096))
      ->needs(command.get_option("--print-sbatch"))
      ->group(group);
}

}  // namespace

void add_study(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "study",
      "Simulate every configuration of a suite, or every variant of an experiment, and compare them");
  const auto options = std::make_shared<StudyOptions>();
  add_experiment_options(*command, options->job);
  add_suite_options(*command, options->input);
  command->get_option("EXPERIMENT")->required(false);
  options->cluster = add_cluster_options(*command);
  command
      ->add_option("--vary", options->vary,
                   "Compare what the exchange sends (compression), links (bandwidth) or numbers of devices "
                   "(workers), on such machines; --within may name several bandwidths: 25Gbps,10Gbps")
      ->check(CLI::IsMember({"compression", "bandwidth", "workers"}))
      ->group("On other machines than the experiment's platform");
  add_sweep_options(*command, *options);
  add_merge(*command, exit_code);
  command->add_flag("--results", options->results,
                    "Also keep the result directory of each configuration in the study's folder");
  add_fidelity_option(*command, options->fidelity, {"transfers", priced_fidelity});
  command->add_option("--jobs,-j", options->jobs, "Simulations to run in parallel; 0: one per CPU core [0]")
      ->check(CLI::Range(0, most_jobs));
  command->footer(
      "The suite file has the form that `tandem validate --help` shows; calibration, tolerance, cluster and "
      "witness "
      "have no\n"
      "effect here. Its key `study` describes the report; all of its keys are optional:\n"
      "  study:\n"
      "    about: the question that the study answers\n"
      "    baseline: bsp           algorithm to which speed-ups are relative\n"
      "    decides: cost           which variant is best: by cost, makespan_s, step_time_s, throughput,\n"
      "                            last_accuracy or time_to_target_s; default: by what is known, cost last\n"
      "    knee: 0.5               share of a proportional gain below which more workers do not pay off\n"
      "    stall: 0.05             of each job with cache nodes, find the least data.cache_capacity with "
      "which\n"
      "                            workers wait for samples no longer than this share of their warm steps;\n"
      "                            of several jobs (key jobs), the least one that suffices for all of them\n"
      "    alone: true             of several jobs, also simulate each alone, for its slow-down\n"
      "    operations: true        record every message, to separate communicating from waiting\n"
      "    reading: {every: 5, mean: 10, start: 0.1}   also evaluate accuracy curves as a publication did:\n"
      "                            every 5th evaluation, running mean of 10, starting at accuracy 0.1\n"
      "    published: [{configuration: resnet18/esync, figure: speed_up, value: 7, what: ..., source: ...}]\n"
      "                            figures to compare with; configuration is a name or a list of names\n"
      "    notes: [remarks that are needed to interpret the figures]\n\n"
      "Exit code 1: a configuration failed.\n\nExamples:\n"
      "  tandem study workloads/studies/stragglers.yaml\n"
      "  tandem study workloads/studies/scale.yaml --only worker_count=64\n"
      "  tandem study workloads/studies/scale.yaml --only-missing\n"
      "  tandem study workloads/studies/scale.yaml --shard 0/4\n"
      "  tandem study workloads/studies/scale.yaml --print-sbatch --time 00:20:00 > scale.sbatch\n"
      "  tandem study workloads/experiments/mixed_lab.yaml --set workload.math=modelled\n"
      "  tandem study job.yaml --vary compression --workers 32 --within 25Gbps,10Gbps");
  command->callback([options, command, &exit_code] {
    if (command->got_subcommand("merge")) return;
    options->in_shards = command->count("--shard") > 0;
    exit_code = study(*options);
  });
}

}  // namespace tandem::cli
