// `tandem plan`: which machines to rent for a job, how many, and with which way to exchange.
//
// 1. Offers that cannot do the job, or that another one dominates, are left out.
// 2. Every number of machines of every other offer, with every way to exchange, is priced in closed form.
// 3. The front of these estimates, and what is near it, is simulated with random fates (Monte Carlo).
// Configurations
//    share the fates of machines, so that their differences do not depend on luck.
// 4. The cheapest one that meets the goal is chosen. Fresh fates give the printed figures, because those with
//    which it was chosen are too good.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/plan_curves.hpp"
#include "cli/commands/plan_page.hpp"
#include "cli/commands/plan_start.hpp"
#include "cli/commands/plan_text.hpp"
#include "cli/shared/chosen_offers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/plan_forecast.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/signals.hpp"
#include "validation/report/plan_page.hpp"
#include "workloads/experiment/yaml.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/planning/lattice.hpp"
#include "workloads/planning/lives.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using planning::Lattice;
using planning::Way;

struct PlanOptions {
  JobOptions job;
  std::string offers, deadline, budget;
  std::vector<std::string> regions;
  double confidence = 0.95;
  int most_machines = 16;
  std::optional<double> target;  ///< accuracy
  std::string curves;
  StartOptions start;
};

planning::Goal goal_of(const PlanOptions& options) {
  planning::Goal goal{.confidence = options.confidence};
  if (!options.deadline.empty()) {
    goal.deadline = parse_seconds(options.deadline);
    if (!goal.deadline || *goal.deadline <= Seconds(0.0) || !has_time_unit(options.deadline))
      throw ConfigError("--deadline: expected a time with its unit (" + time_examples("6h") + "), found '" +
                        options.deadline + "'");
  }
  if (!options.budget.empty()) {
    goal.budget = parse_money(options.budget);
    if (!goal.budget || *goal.budget <= Money())
      throw ConfigError("--budget: expected dollars above 0, found '" + options.budget + "'");
  }
  return goal;
}

/// "6h, $40", as it was given.
std::string goal_text(const PlanOptions& options) {
  const std::string budget = options.budget.empty() ? "" : "$" + options.budget;
  return options.deadline + (options.deadline.empty() || budget.empty() ? "" : ", ") + budget;
}

/// The variants, or the one that was named; without variants the experiment itself. All have its name.
std::vector<Way> ways_of(const PlanOptions& options, PlatformCache& platforms) {
  const LoadedJob base = load_job(options.job, platforms);
  if (!options.job.variant.empty() || base.experiment.variants.empty()) return {{options.job.variant, base}};
  std::vector<Way> ways;
  for (const auto& [name, overrides] : base.experiment.variants) {
    JobOptions of_variant = options.job;
    of_variant.variant = name;
    ways.push_back({name, load_job(of_variant, platforms)});
    ways.back().loaded.experiment.name = base.experiment.name;
  }
  return ways;
}

Lattice::Limits limits_of(const PlanOptions& options, const std::vector<Way>& ways,
                          const std::optional<PlanCurves>& curves) {
  Lattice::Limits limits{.most_machines = options.most_machines, .regions = options.regions};
  for (std::size_t way = 0; curves && way < ways.size(); ++way)
    limits.targets.emplace_back(
        curves->of_ways[way], *options.target,
        ways[way].name.empty() ? ways[way].loaded.experiment.sync.algorithm : ways[way].name);
  return limits;
}

validation::Forecast forecast_of_runs(const planning::Figures& figures) {
  const auto of = [](double mean, const planning::Band& band) {
    return validation::ForecastFigure{mean, band.low, band.high};
  };
  return {of(figures.mean_time_s, figures.time_s), of(figures.mean_cost, figures.cost)};
}

/// The planned job with other fates of its machines, as a suite for `tandem validate`.
std::string suite_text(const std::string& folder) {
  constexpr int seeds = 20;
  std::string list;
  for (int seed = 1; seed <= seeds; ++seed) list += (list.empty() ? "" : ", ") + std::to_string(seed);
  return "# Runs of the planned job whose machines have other fates, against the forecast of the plan: each "
         "is "
         "as long as the job.\n#   tandem validate " +
         shell_word(folder + "/suite.yaml") + "\nexperiments: [experiment.yaml]\ngrid: {seed: [" + list +
         "]}\n";
}

void write_plan(const Lattice& lattice, const PlanResult& result) {
  const planning::LivedConfiguration& best = result.lived.front();
  const planning::Configuration& chosen = lattice.configurations()[best.number];
  const Experiment experiment = lattice.experiment_of(chosen, "platform.xml");
  write_whole_file(result.folder + "/platform.xml", lattice.platform_of(chosen));
  write_whole_file(result.folder + "/table.csv", plan_csv(lattice, result));
  write_whole_file(result.folder + "/front.html", validation::plan_html(page_of(lattice, result)));
  write_whole_file(result.folder + "/experiment.yaml",
                   "# Written by: " + command_line() + "\n" + to_yaml(experiment) + "\n");
  write_whole_file(result.folder + "/suite.yaml", suite_text(result.folder));
  nlohmann::json document = plan_document(lattice, result);
  // If some lives never end, their mean says nothing of runs that do.
  if (std::isfinite(best.figures.mean_time_s))
    document["forecast"] = forecast_document(result.folder, forecast_of_runs(best.figures));
  write_whole_file(result.folder + "/plan.json", document.dump(2) + '\n');
}

/// What starts the choice elsewhere is alone on standard output, so that it can be written to a file.
void print_plan(const Lattice& lattice, const PlanResult& result, const StartOptions& start) {
  nlohmann::json document = plan_document(lattice, result);
  const std::string text = plan_text(lattice, result);
  if (!start.is_wanted()) {
    fmt::print("{}", text);
  } else {
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      print_line(text.substr(begin, text.find('\n', begin) - begin));
    document["start"] = start_text(lattice, result, start);
    fmt::print("{}", document["start"].get<std::string>());
  }
  print_document(document);
}

int plan(const PlanOptions& options) {
  const planning::Goal goal = goal_of(options);
  PlatformCache platforms;
  const ChosenOffers offers = offers_of(options.offers);
  for (const auto& warning : offers.warnings) print_warning(warning);
  // Ctrl-C ends the search between two steps, so that the platforms which it has written are removed. While
  // results are written it waits until all of them are there.
  const SignalReader signals(ending_signals);
  const auto step = [&signals] {
    if (const auto signal = signals.next()) throw Interrupted{*signal};
  };
  std::vector<Way> ways = ways_of(options, platforms);
  std::optional<PlanCurves> curves;
  if (options.target) {
    curves = read_curves(options.curves, ways);
    if (!curves->reach(*options.target)) {
      print_error(fmt::format("no accuracy curve reaches {:g}; the best one has {}", *options.target,
                              curves->best()));
      return exit_goal_missed;
    }
  }
  const ScratchFolder scratch(new_temporary_path("tandem-plan-"));
  Lattice::Limits limits = limits_of(options, ways, curves);
  Lattice lattice(std::move(ways), std::move(limits), platforms, scratch.path().string());
  const Experiment& first = lattice.ways().front().loaded.experiment;
  PlanResult result{.name = first.name,
                    .goal = goal,
                    .goal_text = goal_text(options),
                    .target = options.target,
                    .curves = curves ? curves->count() : 0,
                    .lived = {},
                    .sensitivity = {},
                    .offers = offers.chosen.size(),
                    .folder = options.job.out.empty() ? default_out(first.name, "plan") : options.job.out};
  check_result_directory(result.folder, options.job.force);
  const auto began = std::chrono::steady_clock::now();
  lattice.price(offers.chosen, step);
  result.priced_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  planning::Lives lives(lattice, planning::worth_living(lattice.configurations(), goal), goal, first.seed,
                        step);
  {
    ProgressBar bar("plan");
    lives.live([&](double done) { bar.update(done); });
  }
  result.is_met = lives.is_met();
  result.draws = lives.draws();
  result.lived = lives.fresh();
  result.resamples = result.is_met && lives.depends_on_chance() ? planning::resample_count : 0;
  result.sensitivity = lives.sensitivity(result.lived);

  const WriteLock lock = create_result_directory(result.folder, options.job.force);
  write_plan(lattice, result);
  mark_complete(result.folder);
  print_plan(lattice, result, options.start);
  return result.is_met ? exit_success : exit_goal_missed;
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "plan", "Which machines to rent for a job, how many, and how they exchange: time, cost, and why");
  const auto options = std::make_shared<PlanOptions>();
  add_experiment_options(*command, options->job);
  command
      ->add_option(
          "--offers", options->offers,
          "Offers to choose from: words of `tandem list offers`, or FILE.csv, or \"FILE.csv: WORDS\"")
      ->required();
  command->add_option("--deadline", options->deadline, "Time in which the job has to end, such as 6h");
  command->add_option("--budget", options->budget, "Dollars that it may cost, such as 40");
  command->add_option("--confidence", options->confidence, "Probability with which both are met, at least")
      ->capture_default_str()
      ->check(CLI::Range(0.5, 0.999));
  command->add_option("--regions", options->regions, "Regions that are allowed, as offers name them: A,B")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--max-machines", options->most_machines, "Most machines of an offer")
      ->capture_default_str()
      ->check(CLI::Range(1, 190));
  CLI::Option* const curves = command->add_option(
      "--curves", options->curves,
      "Results of this job with real mathematics, at any depth of this folder: their accuracies say how many "
      "samples each way takes with so many workers");
  curves->needs(command
                    ->add_option("--target-accuracy", options->target,
                                 "Accuracy until which is trained, instead of the samples of the experiment")
                    ->check(CLI::Range(0.0, 1.0))
                    ->needs(curves));
  add_start_options(*command, options->start);
  command->footer(
      "The samples of the experiment are trained by any number of workers. Its variants are the ways to "
      "exchange among\n"
      "which to choose. Machines of other roles stay as they are in its platform. The plan writes an "
      "experiment and a\n"
      "platform that `tandem simulate` and `tandem run` take, which print the forecast with the cost; and a "
      "suite "
      "of 20\n"
      "seeds, with which `tandem validate` compares the forecast with runs.\n"
      "Exit code 3: no way meets deadline and budget; the nearest one is printed and written.\n\n"
      "Examples:\n"
      "  tandem plan workloads/experiments/planned.yaml --offers \"azure t4\" --deadline 6h\n"
      "  tandem plan job.yaml --offers mine.csv --deadline 6h --budget 40 --confidence 0.9 --max-machines 8\n"
      "  tandem plan job.yaml --offers mine.csv --print-skypilot --image registry/tandem > task.yaml");
  command->callback([options, &exit_code] { exit_code = plan(*options); });
}

}  // namespace tandem::cli
