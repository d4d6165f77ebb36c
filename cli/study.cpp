// `tandem study`: simulates every configuration of a suite, or every variant of an experiment, and compares
// them in one report. Nothing is run.
#include "validation/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/output.hpp"
#include "cli/platform_document.hpp"
#include "cli/progress.hpp"
#include "cli/subcommand_process.hpp"
#include "cli/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/plan.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using validation::SuiteConfiguration;

struct StudyOptions {
  JobOptions job;
  SuiteInputOptions input;
  int jobs = 0;  ///< simulations in parallel; 0: one per core
};

/// The result of one simulation.
struct Outcome {
  std::string directory;
  std::string failure{};
};

constexpr int most_jobs = 64;

int jobs_of(const StudyOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_jobs);
}

/// Simulates all configurations; those with most workers first, because they take longest.
void simulate_all(const validation::Suite& suite, int jobs, const std::vector<Subcommand>& commands,
                  std::vector<Outcome>& outcomes, std::exception_ptr& first_error) {
  std::vector<std::size_t> order(commands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto workers = [&](std::size_t i) {
    return suite.configurations[i].experiment.placement.worker_count;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return workers(a) > workers(b); });
  std::vector<Subcommand> ordered;
  for (const std::size_t i : order) ordered.push_back(commands[i]);

  ProgressBar bar("study " + suite.name);
  std::vector<bool> is_done(ordered.size());
  auto next = std::chrono::steady_clock::now();
  const auto show = [&] {
    if (std::chrono::steady_clock::now() < next) return;
    next += std::chrono::seconds(1);
    double done = 0;
    for (std::size_t i = 0; i < ordered.size(); ++i) done += is_done[i] ? 1 : logged_progress(ordered[i].log);
    bar.update(done / static_cast<double>(ordered.size()));
  };
  const auto ended = [&](std::size_t index, std::exception_ptr error) {
    is_done[index] = true;
    if (!error) return;
    if (!first_error) first_error = error;
    auto& outcome = outcomes[order[index]];
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      outcome.failure = validation::first_lines(known.what());
    }
    print_error(suite.configurations[order[index]].name + ": " + outcome.failure);
  };
  run_subcommands(ordered, jobs, ended, show);
}

json read_json(const std::string& path) { return read_json_file(path, "a file of a result directory"); }

json document_of(const SuiteConfiguration& configuration, const Outcome& outcome) {
  const validation::StudyConfiguration names{.name = configuration.name,
                                             .group = configuration.group,
                                             .algorithm = configuration.algorithm,
                                             .line = configuration.line};
  if (!outcome.failure.empty()) return validation::failed_study_configuration(names, outcome.failure);
  const json run = read_json(outcome.directory + "/run.json");
  check_lines(outcome.directory, run);
  return validation::study_configuration(names, read_json(outcome.directory + "/summary.json"), run);
}

int study(const StudyOptions& options) {
  const validation::Suite suite = read_suite(options.job, options.input);
  if (options.input.list) {
    print_names(suite);
    return exit_success;
  }
  const std::string out = options.job.out.empty() ? default_out(suite.name, "study") : options.job.out;
  const WriteLock lock = create_result_directory(out, options.job.force);

  std::vector<Subcommand> commands;
  std::vector<Outcome> outcomes;
  for (const auto& configuration : suite.configurations) {
    const std::string directory = out + '/' + configuration.folder;
    auto words = words_for("simulate", configuration, configuration.settings);
    words.insert(words.end(), {"--out", directory, "--force", "--yes"});
    if (suite.study.operations) words.emplace_back("--operations");
    std::filesystem::create_directories(directory);
    commands.push_back({std::move(words), directory + ".log"});
    outcomes.push_back({directory});
  }
  const int jobs = jobs_of(options);
  // Parallel simulations have one core each.
  if (jobs > 1) setenv("OMP_NUM_THREADS", "1", 0);
  std::exception_ptr first_error;
  simulate_all(suite, jobs, commands, outcomes, first_error);
  // If the only configuration fails, there is nothing to report.
  if (suite.configurations.size() == 1 && first_error) std::rethrow_exception(first_error);

  std::vector<json> documents;
  std::vector<std::string> lines = {command_line()};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    documents.push_back(document_of(suite.configurations[i], outcomes[i]));
    lines.push_back(command_of(commands[i].words));
  }
  json document = validation::study_document(std::move(documents), suite.name, suite.study, lines);
  document["platforms"] = platforms_of(document);
  validation::write_study(out, document);
  std::filesystem::remove(out + "/INCOMPLETE");
  fmt::print("{}\n{}/report.html\n", validation::study_table(document), out);
  print_document(document);
  return first_error ? exit_beyond_tolerance : exit_success;
}

}  // namespace

void add_study(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "study",
      "Simulate every configuration of a suite, or every variant of an experiment, and compare them");
  const auto options = std::make_shared<StudyOptions>();
  add_experiment_options(*command, options->job);
  add_suite_options(*command, options->input);
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
      "    knee: 0.5               share of a proportional gain below which more workers do not pay off\n"
      "    operations: true        record every message, to separate communicating from waiting\n"
      "    reading: {every: 5, mean: 10, start: 0.1}   also evaluate accuracy curves as a publication did:\n"
      "                            every 5th evaluation, running mean of 10, starting at accuracy 0.1\n"
      "    published: [{configuration: resnet18/esync, figure: speed_up, value: 7, what: ..., source: ...}]\n"
      "                            figures to compare with; configuration is a name or a list of names\n"
      "    notes: [remarks that are needed to interpret the figures]\n\n"
      "Exit code 1: a configuration failed.\n\nExamples:\n"
      "  tandem study workloads/studies/stragglers.yaml\n"
      "  tandem study workloads/studies/scale.yaml --only worker_count=64\n"
      "  tandem study workloads/experiments/mixed_lab.yaml --set workload.math=modelled");
  command->callback([options, &exit_code] { exit_code = study(*options); });
}

}  // namespace tandem::cli
