// `tandem study`: simulates every configuration of a suite, or every variant of an experiment, and reports
// them side by side. Nothing is run for real.
#include "validation/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "cli/progress.hpp"
#include "cli/subcommand_process.hpp"
#include "cli/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/plan.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using validation::SuiteConfiguration;

struct StudyOptions {
  JobOptions job;
  SuiteInputOptions input;
  int at_once = 0;  ///< simulations; 0: as many as this machine has cores
};

/// What one simulation left behind.
struct Outcome {
  std::string directory;
  std::string failure{};
};

constexpr int most_jobs = 64;

int simulations_at_once(const StudyOptions& options) {
  if (options.at_once > 0) return options.at_once;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_jobs);
}

/// Simulates all, those with most workers first: they take longest.
void simulate_all(const validation::Suite& suite, int at_once, const std::vector<SelfCommand>& commands,
                  std::vector<Outcome>& outcomes, std::exception_ptr& first_error) {
  std::vector<std::size_t> order(commands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto workers = [&](std::size_t i) {
    return suite.configurations[i].experiment.placement.worker_count;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return workers(a) > workers(b); });
  std::vector<SelfCommand> ordered;
  for (const std::size_t i : order) ordered.push_back(commands[i]);

  ProgressBar bar("study " + suite.name);
  std::size_t done = 0;
  const auto show = [&] { bar.update(static_cast<double>(done) / static_cast<double>(ordered.size())); };
  const auto ended = [&](std::size_t index, std::exception_ptr error) {
    ++done;
    if (!error) return;
    if (!first_error) first_error = error;
    auto& outcome = outcomes[order[index]];
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      outcome.failure = validation::first_lines(known.what());
    }
    fmt::print(stderr, "tandem: {}: {}\n", suite.configurations[order[index]].name, outcome.failure);
  };
  run_subcommands(ordered, at_once, ended, show);
}

json read_json(const std::string& path) { return json::parse(std::ifstream(path)); }

json document_of(const SuiteConfiguration& configuration, const Outcome& outcome) {
  const validation::StudyConfiguration names{.name = configuration.name,
                                             .group = configuration.group,
                                             .algorithm = configuration.algorithm,
                                             .line = configuration.line};
  if (!outcome.failure.empty()) return validation::failed_study_configuration(names, outcome.failure);
  return validation::study_configuration(names, read_json(outcome.directory + "/summary.json"),
                                         read_json(outcome.directory + "/run.json"));
}

int study(const StudyOptions& options) {
  const validation::Suite suite = read_suite(options.job, options.input);
  if (options.input.list) {
    print_names(suite);
    return exit_fine;
  }
  const std::string out = options.job.out.empty() ? "results/" + suite.name : options.job.out;
  create_result_directory(out, options.job.force);

  std::vector<SelfCommand> commands;
  std::vector<Outcome> outcomes;
  for (const auto& configuration : suite.configurations) {
    const std::string directory = out + '/' + configuration.folder;
    auto words = words_for("simulate", configuration, configuration.settings);
    words.insert(words.end(), {"--out", directory, "--force"});
    if (suite.study.operations) words.emplace_back("--operations");
    std::filesystem::create_directories(directory);
    commands.push_back({std::move(words), directory + ".log"});
    outcomes.push_back({directory});
  }
  const int at_once = simulations_at_once(options);
  // Side by side, each has one core for its mathematics.
  if (at_once > 1) setenv("OMP_NUM_THREADS", "1", 0);
  std::exception_ptr first_error;
  simulate_all(suite, at_once, commands, outcomes, first_error);
  // One that fails alone is no finding but an error.
  if (suite.configurations.size() == 1 && first_error) std::rethrow_exception(first_error);

  std::vector<json> documents;
  std::vector<std::string> said = {command_line()};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    documents.push_back(document_of(suite.configurations[i], outcomes[i]));
    said.push_back(command_of(commands[i].words));
  }
  const json document = validation::study_document(std::move(documents), suite.name, suite.study, said);
  validation::write_study(out, document);
  std::filesystem::remove(out + "/INCOMPLETE");
  fmt::print("{}\n{}/report.html\n", validation::study_table(document), out);
  return first_error ? exit_beyond_tolerance : exit_fine;
}

}  // namespace

void add_study(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "study", "Simulate every configuration of a suite, or variant of an experiment, and compare them");
  const auto options = std::make_shared<StudyOptions>();
  add_experiment_options(*command, options->job);
  add_suite_options(*command, options->input);
  command
      ->add_option("--at-once", options->at_once,
                   "Simulations side by side; 0: as many as there are cores [0]")
      ->check(CLI::Range(0, most_jobs));
  command->footer(
      "The suite is that of `tandem validate`, of which calibration, tolerance, cluster and witness say "
      "nothing here.\n"
      "Its key `study` says more about the report; each key may be left out:\n"
      "  study:\n"
      "    about: what is asked\n"
      "    baseline: bsp           algorithm that the others of a group are compared with\n"
      "    knee: 0.5               share of a proportional gain below which more workers do not pay\n"
      "    operations: true        records every message, which tells communicating from waiting\n"
      "    reading: {every: 5, mean: 10, start: 0.1}   also reads curves of accuracy late, as others do\n"
      "    published: [{configuration: resnet18/esync, figure: speed_up, value: 7, what: ..., source: ...}]\n"
      "                            configuration: also a list of those that the figure stands beside\n"
      "    notes: [what a reader must know]\n\n"
      "Exit code 1: a configuration failed.\n\nExamples:\n"
      "  tandem study workloads/studies/stragglers.yaml\n"
      "  tandem study workloads/studies/scale.yaml --only worker_count=64\n"
      "  tandem study workloads/experiments/mixed_lab.yaml --set workload.math=modelled");
  command->callback([options, &exit_code] { exit_code = study(*options); });
}

}  // namespace tandem::cli
