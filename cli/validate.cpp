// `tandem validate`: calibrates, simulates and runs every variant of an experiment, and reports how far the
// two worlds are apart. Each simulation and run is a command of its own, printed in the report, that anyone
// can repeat.
#include "validation/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/calibration_run.hpp"
#include "cli/cluster_use.hpp"
#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/progress.hpp"
#include "cli/self.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "validation/report.hpp"
#include "workloads/profile.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

struct ValidateOptions {
  JobOptions job;
  std::string profile;      ///< existing one; empty: calibrate
  double tolerance = 0.10;  ///< of the mean absolute error of step time
  bool on_cluster = false;  ///< runs take place on the emulated cluster of the platform
};

/// One simulation or run to make.
struct Task {
  std::string variant;
  std::string out;
  std::vector<std::string> words;  ///< of the command, without the program
};

std::vector<std::string> variants_of(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const auto& [name, keys] : experiment.variants) names.push_back(name);
  if (names.empty()) names.emplace_back();
  return names;
}

Task make_task(const ValidateOptions& options, const std::string& verb, const std::string& variant,
               const std::string& folder, const std::string& profile) {
  Task task{.variant = variant, .out = folder, .words = {verb, options.job.experiment_file}};
  if (!variant.empty()) task.words.insert(task.words.end(), {"--variant", variant});
  for (const auto& setting : options.job.settings) task.words.insert(task.words.end(), {"--set", setting});
  task.words.insert(task.words.end(), {"--set", "physics.network=profile", "--set", "physics.noise=profile",
                                       "--set", "physics.profile=" + profile});
  task.words.insert(task.words.end(), {"--out", folder, "--operations", "--decisions", "--trace", "--force"});
  return task;
}

std::vector<Task> plan(const ValidateOptions& options, const Experiment& experiment, const std::string& out,
                       const std::string& profile) {
  std::vector<Task> simulations, runs;
  for (const auto& variant : variants_of(experiment)) {
    const std::string folder = out + "/" + (variant.empty() ? "job" : variant);
    simulations.push_back(make_task(options, "simulate", variant, folder + "/simulated", profile));
    for (int repetition = 0; repetition < experiment.repetitions; ++repetition) {
      Task run =
          make_task(options, "run", variant, fmt::format("{}/measured-{}", folder, repetition), profile);
      run.words.insert(run.words.end(), {"--repetition", std::to_string(repetition)});
      if (options.on_cluster) run.words.insert(run.words.end(), {"--cluster", experiment.platform});
      runs.push_back(std::move(run));
    }
  }
  // Shuffled, so that a drift of the machine does not favour one variant.
  Rng::stream(experiment.seed, "order of runs").shuffle(runs);
  simulations.insert(simulations.end(), runs.begin(), runs.end());
  return simulations;
}

void calibrate_if_needed(const ValidateOptions& options, const Experiment& experiment,
                         const std::string& profile) {
  if (!options.profile.empty()) return;
  fmt::print("calibrating {}\n", options.on_cluster ? "the emulated cluster" : "this machine");
  JobOptions calibration = options.job;
  // Any variant will do: model, batch and number of ranks are what is measured.
  calibration.variant = variants_of(experiment).front();
  const std::string cluster = options.on_cluster ? experiment.platform : std::string();
  if (run_calibration(calibration, profile, cluster) != exit_fine) throw WorldError("the calibration failed");
}

/// Does all tasks in order and reads their results, by variant in the order of first mention.
std::vector<validation::VariantResults> carry_out(const std::vector<Task>& tasks,
                                                  const Experiment& experiment, const std::string& log) {
  std::vector<validation::VariantResults> variants;
  ProgressBar bar("validate " + experiment.name);
  for (std::size_t done = 0; done < tasks.size(); ++done) {
    const Task& task = tasks[done];
    bar.update(static_cast<double>(done) / static_cast<double>(tasks.size()));
    std::filesystem::create_directories(task.out);
    run_self(task.words, log);
    Results results = read_results(task.out);
    const std::string name = task.variant.empty() ? experiment.name : task.variant;
    const auto known =
        std::find_if(variants.begin(), variants.end(), [&](const auto& v) { return v.name == name; });
    if (known == variants.end()) {
      variants.push_back({name, std::move(results), {}});
    } else {
      known->measured.push_back(std::move(results));
    }
  }
  return variants;
}

int validate_experiment(const ValidateOptions& options) {
  const Experiment experiment = load_job(options.job).experiment;
  const std::string out = options.job.out.empty() ? "results/" + experiment.name : options.job.out;
  // Before anything is written.
  if (!options.profile.empty()) load_profile(options.profile);
  create_result_directory(out, options.job.force);
  const std::string profile =
      std::filesystem::absolute(options.profile.empty() ? out + "/profile.json" : options.profile);
  std::optional<ClusterKeeper> cluster;
  if (options.on_cluster) cluster.emplace(experiment.platform, true);
  calibrate_if_needed(options, experiment, profile);

  const std::vector<Task> tasks = plan(options, experiment, out, profile);
  const auto variants = carry_out(tasks, experiment, out + "/log.txt");
  const auto validation = validation::validate(variants, options.tolerance);
  validation::ReportSource source{.title = experiment.name, .commands = {command_line()}};
  for (const Task& task : tasks)
    source.commands.push_back(fmt::format("tandem {}", fmt::join(task.words, " ")));
  const auto document = validation::report_document(variants, validation, source);
  validation::write_report(out, document);
  std::filesystem::remove(out + "/INCOMPLETE");
  fmt::print("{}\n{}/report.html\n", validation::summary_table(document), out);
  return validation.passed ? exit_fine : exit_beyond_tolerance;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("validate", "Simulate and run an experiment, and report how far the two are apart");
  const auto options = std::make_shared<ValidateOptions>();
  add_experiment_options(*command, options->job);
  command->add_option("--profile", options->profile, "Use this calibration profile instead of measuring one");
  command->add_flag("--cluster", options->on_cluster,
                    "Run on the emulated cluster of the experiment's platform (Linux, root)");
  command->add_option("--tolerance", options->tolerance, "Mean absolute error of step time that passes")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->footer(
      "Ranks run on this machine, so the simulation takes the platform's devices and disks and this "
      "machine's\n"
      "network, as calibrated. Exit code 1: beyond the tolerance. Example:\n"
      "  tandem validate workloads/experiments/mixed_lab.yaml --set repetitions=3");
  command->callback([options, &exit_code] { exit_code = validate_experiment(*options); });
}

}  // namespace tandem::cli
