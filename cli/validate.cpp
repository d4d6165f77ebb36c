// `tandem validate`: calibrates, simulates and runs every variant of an experiment, and reports how far the
// two worlds are apart. Each simulation and run is a command of its own, printed in the report, that anyone
// can repeat.
#include "validation/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/calibration_run.hpp"
#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"
#include "validation/report.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

struct ValidateOptions {
  JobOptions job;
  std::string profile;      ///< existing one; empty: calibrate
  double tolerance = 0.10;  ///< of the mean absolute error of step time
};

/// One simulation or run to make.
struct Task {
  std::string variant;
  std::string out;
  std::vector<std::string> words;  ///< of the command, without the program
};

/// Runs this very program with other words; its output goes to a log. Errors: ConfigError or WorldError with
/// the end of the log.
void run_self(const std::vector<std::string>& words, const std::string& log) {
  std::vector<std::string> storage = {std::filesystem::read_symlink("/proc/self/exe").string()};
  storage.insert(storage.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : storage) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, storage.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw WorldError("cannot start " + storage.front());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::ifstream file(log);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  const std::string message = fmt::format("tandem {} failed:\n{}", fmt::join(words, " "), said);
  if (WIFEXITED(status) && WEXITSTATUS(status) == exit_bad_input) throw ConfigError(message);
  throw WorldError(message);
}

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
  task.words.insert(task.words.end(),
                    {"--set", "physics.network=profile", "--set", "physics.profile=" + profile});
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
  fmt::print("calibrating this machine\n");
  JobOptions calibration = options.job;
  // Any variant will do: model, batch and number of ranks are what is measured.
  calibration.variant = variants_of(experiment).front();
  if (run_calibration(calibration, profile) != exit_fine) throw WorldError("the calibration failed");
}

int validate_experiment(const ValidateOptions& options) {
  JobOptions whole = options.job;
  const Experiment experiment = load_job(whole).experiment;
  const std::string out = options.job.out.empty() ? "results/" + experiment.name : options.job.out;
  create_result_directory(out, options.job.force);
  const std::string profile =
      std::filesystem::absolute(options.profile.empty() ? out + "/profile.json" : options.profile);
  calibrate_if_needed(options, experiment, profile);

  const std::vector<Task> tasks = plan(options, experiment, out, profile);
  ProgressBar bar("validate " + experiment.name);
  std::map<std::string, validation::VariantResults> results;
  std::vector<std::string> commands;
  for (std::size_t done = 0; done < tasks.size(); ++done) {
    const Task& task = tasks[done];
    bar.update(static_cast<double>(done) / static_cast<double>(tasks.size()));
    std::filesystem::create_directories(task.out);
    run_self(task.words, out + "/log.txt");
    auto& variant = results[task.variant];
    variant.name = task.variant.empty() ? experiment.name : task.variant;
    if (task.words.front() == "simulate") {
      variant.simulated = read_results(task.out);
    } else {
      variant.measured.push_back(read_results(task.out));
    }
    commands.push_back(fmt::format("tandem {}", fmt::join(task.words, " ")));
  }
  return exit_fine;
}

}  // namespace
