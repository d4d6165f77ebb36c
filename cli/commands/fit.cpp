// `tandem fit`: lifetime models from observations of machines (how long they lived, when they came and went,
// or how many there were), costs of networks, servers and all-reduces from tables of measured times, and
// predictors of the times of steps and checkpoints.
#include "policies/lifetimes/estimate/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/fit/collectives_table.hpp"
#include "cli/fit/events_file.hpp"
#include "cli/fit/fit_replay.hpp"
#include "cli/fit/fit_text.hpp"
#include "cli/fit/lifetimes_file.hpp"
#include "cli/fit/predictor_fit.hpp"
#include "cli/fit/table_fit.hpp"
#include "cli/shared/cache_options.hpp"
#include "cli/shared/output.hpp"
#include "platforms/csv_table.hpp"
#include "policies/lifetimes/catalog.hpp"
#include "policies/lifetimes/estimate/families.hpp"
#include "policies/lifetimes/estimate/hours.hpp"
#include "policies/lifetimes/estimate/limit.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "validation/report/lifetimes_page.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/lifetimes_fit.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

struct FitOptions {
  std::string file;
  std::string by;
  std::string out;
  std::string report;
  std::string model = "auto";
  std::string mean_up_to;
  double confidence = 0.95;
  int bootstrap = -1;  ///< draws; -1: 200 if the table has groups, else none
  std::uint64_t seed = 1;
};

/// The rows of a file that are estimated together.
struct Sample {
  std::vector<std::string> values;  ///< of the columns of --by
  std::vector<std::size_t> rows;
};

std::vector<lifetimes::Observation> observations_of(const LifetimesFile& file, const Sample& sample) {
  std::vector<lifetimes::Observation> observations;
  for (const auto row : sample.rows) observations.push_back(file.observations[row]);
  return observations;
}

/// In the order of the texts. Errors: ConfigError for a column that the file does not have.
std::vector<Sample> samples_by(const LifetimesFile& file, const std::string& by) {
  std::vector<std::size_t> columns;
  for (const auto& name : parts_of(by)) {
    const auto found = std::ranges::find(file.columns, name);
    if (found == file.columns.end()) {
      const std::string nearest = nearest_name(name, file.columns);
      throw ConfigError(fmt::format("{}: --by: expected columns of the table ({}), found '{}'{}", file.path,
                                    fmt::join(file.columns, ", "), name,
                                    nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
    }
    columns.push_back(static_cast<std::size_t>(found - file.columns.begin()));
  }
  std::map<std::vector<std::string>, Sample> samples;
  for (std::size_t row = 0; row < file.observations.size(); ++row) {
    std::vector<std::string> values;
    for (const auto column : columns) values.push_back(file.texts[row][column]);
    auto& sample = samples[values];
    sample.values = values;
    sample.rows.push_back(row);
  }
  std::vector<Sample> ordered;
  for (auto& [values, sample] : samples) ordered.push_back(std::move(sample));
  return ordered;
}

/// The model `empirical`: the curve's steps, and its late hazard beyond the last observation.
std::map<std::string, OptionValue> empirical_options(
    const std::vector<lifetimes::Observation>& observations) {
  const auto curve = lifetimes::kaplan_meier(observations);
  lifetimes::Values times, survival;
  for (const auto& step : curve.steps) {
    times.push_back(step.time);
    survival.push_back(step.survival);
  }
  std::map<std::string, OptionValue> options = {{"times", lifetimes::joined(times)},
                                                {"survival", lifetimes::joined(survival)}};
  if (curve.steps.back().survival > 0.0) {
    options["tail_from"] = curve.last;
    options["tail_rate"] = lifetimes::late_hazard(observations);
  }
  return options;
}

/// A parameter without a bound in the data, such as the mean of machines of which none died, is the largest
/// that the model takes.
std::map<std::string, OptionValue> within_limits(const std::string& model,
                                                 std::map<std::string, OptionValue> options) {
  for (const auto& spec : lifetimes::catalog().find(model).options) {
    const auto found = options.find(spec.name);
    if (found == options.end()) continue;
    if (auto* const number = std::get_if<double>(&found->second))
      *number = std::clamp(*number, spec.minimum, spec.maximum);
  }
  return options;
}

/// Estimates the lifetimes of a file.
class Estimation {
 public:
  Estimation(const FitOptions& options, const LifetimesFile& file)
      : options_(options),
        file_(file),
        draws_(options.bootstrap >= 0 ? options.bootstrap
               : file.groups.empty()  ? 0
                                      : 200) {}

  LifetimesFit results() const {
    Sample all;
    for (std::size_t row = 0; row < file_.observations.size(); ++row) all.rows.push_back(row);
    LifetimesFit fit{.file = file_.path, .all = estimate(all), .confidence = options_.confidence};
    if (!fit.all.estimated) refuse_without_deaths(fit.all);
    if (fit.all.machines < 2.0)
      throw ConfigError(
          fmt::format("{}: expected at least two machines, found {:g}", file_.path, fit.all.machines));
    fit.intervals = draws_ == 0            ? "profile likelihood (bathtub: bootstrap of single machines)"
                    : file_.groups.empty() ? "bootstrap of single machines"
                                           : "bootstrap of whole groups";
    fit.correlation = correlation();
    if (!options_.by.empty()) add_groups(fit);
    return fit;
  }

 private:
  LifetimesSample estimate(const Sample& sample) const {
    const auto observations = observations_of(file_, sample);
    LifetimesSample found;
    for (const auto row : sample.rows) {
      const auto& one = file_.observations[row];
      found.machines += one.weight;
      (!one.died ? found.censored : file_.failed[row] ? found.failed : found.revoked) += one.weight;
      if (one.alive_at) found.in_interval += one.weight;
      found.observed_s += one.weight * (one.duration - one.entry);
    }
    found.curve = lifetimes::kaplan_meier(observations, options_.confidence);
    if (found.curve.steps.empty()) return found;
    EstimatedLifetimes& estimated = found.estimated.emplace();
    estimated.median = found.curve.time_of_survival(0.5);
    estimated.mean = mean_of(found.curve, !sample.values.empty());
    estimated.limit = lifetimes::common_limit(observations);
    const auto before_limit =
        estimated.limit ? lifetimes::censored_at(*estimated.limit, observations) : observations;
    add_models(estimated, sample, before_limit);
    estimated.by_age = lifetimes::rates_by_age(observations, options_.confidence);
    if (file_.is_on_clock) estimated.by_hour = by_hour(sample, before_limit);
    const bool has_factors = estimated.by_hour && estimated.by_hour->is_separable;
    if (has_factors && estimated.limit) estimated.by_hour->options["limit"] = estimated.limit->age;
    const double failed = found.failed, revoked = found.revoked;
    if (failed <= 0.0) return found;
    estimated.chosen.options["lost"] = failed / (failed + revoked);
    if (has_factors) estimated.by_hour->options["lost"] = failed / (failed + revoked);
    return found;
  }

  std::optional<lifetimes::HoursOfDay> by_hour(
      const Sample& sample, const std::vector<lifetimes::Observation>& observations) const {
    std::vector<double> starts;
    for (std::size_t i = 0; i < observations.size(); ++i)
      starts.push_back(file_.times[sample.rows[i]].begin - observations[i].entry);
    return lifetimes::fit_hours(observations, starts, options_.confidence);
  }

  /// A group may have been observed for a shorter time than all machines.
  EstimatedLifetimes::Mean mean_of(const lifetimes::SurvivalCurve& curve, bool is_group) const {
    double limit = curve.last;
    if (!options_.mean_up_to.empty()) {
      const auto given = parse_seconds(options_.mean_up_to);
      if (!given || given->count() <= 0.0)
        throw ConfigError("fit lifetimes: --mean-up-to: expected a time above 0 such as 24h, found '" +
                          options_.mean_up_to + "'");
      limit = given->count();
      const bool is_known = limit <= curve.last || curve.steps.back().survival <= 0.0;
      if (!is_known && is_group) limit = curve.last;
      if (!is_known && !is_group)
        throw ConfigError(fmt::format(
            "{}: --mean-up-to: expected at most the longest observation, {} s, because some machines were "
            "still alive, found '{}'",
            file_.path, curve.last, options_.mean_up_to));
    }
    return {limit, lifetimes::restricted_mean(curve, limit, options_.confidence)};
  }

  /// `observations`: censored at the limit, if there is one; every model then ends machines there.
  void add_models(EstimatedLifetimes& estimated, const Sample& sample,
                  const std::vector<lifetimes::Observation>& observations) const {
    const auto& limit = estimated.limit;
    auto models = lifetimes::fit_all(observations);
    std::string chosen = options_.model == "auto" ? models.front().model : options_.model;
    const auto is_chosen = [&](const lifetimes::Fitted& fitted) { return fitted.model == chosen; };
    if (chosen != "empirical" && std::ranges::none_of(models, is_chosen))
      models.push_back(lifetimes::fit(chosen, observations));
    for (auto& model : models) {
      model.options = within_limits(model.model, model.options);
      if (limit) model.options["limit"] = limit->age;
      if (is_chosen(model) || model.parameters.size() <= 2) add_intervals(model, sample, observations);
    }
    for (const auto& model : models)
      estimated.models.push_back({.fitted = model, .aic_difference = model.aic - models.front().aic});
    const auto found = std::ranges::find_if(models, is_chosen);
    auto values = found == models.end() ? empirical_options(observations) : found->options;
    if (limit) values["limit"] = limit->age;
    expect_finite_mean(chosen, values);
    estimated.chosen = {chosen, std::move(values)};
  }

  /// Departures at one age alone leave no hazard for later ages, for example.
  void expect_finite_mean(const std::string& model, const std::map<std::string, OptionValue>& values) const {
    if (std::isinf(lifetimes::make_lifetime(model, values)->mean()))
      throw ConfigError(
          fmt::format("{}: --model {}: expected departures that give a finite mean lifetime, found none at "
                      "the highest ages",
                      file_.path, model));
  }

  void add_intervals(lifetimes::Fitted& model, const Sample& sample,
                     const std::vector<lifetimes::Observation>& observations) const {
    constexpr int draws_of_bathtub = 100;
    const bool is_bathtub = model.model == "bathtub";
    if (draws_ == 0 && !is_bathtub)
      return lifetimes::add_profile_intervals(model, observations, options_.confidence);
    std::vector<std::size_t> groups;
    for (const auto row : sample.rows)
      groups.push_back(file_.groups.empty() || draws_ == 0 ? row : file_.groups[row]);
    lifetimes::add_bootstrap_intervals(model, observations, groups, draws_ == 0 ? draws_of_bathtub : draws_,
                                       options_.seed, options_.confidence);
  }

  /// Without deaths the observed time still bounds a constant hazard: none within it has probability
  /// e^(-time/mean).
  [[noreturn]] void refuse_without_deaths(const LifetimesSample& all) const {
    const double least = all.observed_s / -std::log(1.0 - options_.confidence);
    throw ConfigError(
        fmt::format("{}: expected at least one machine that was revoked or failed, found {} without; the "
                    "mean lifetime is "
                    "above {} with a confidence of {:g} % if the hazard is constant",
                    file_.path, all.machines, age_text(least), 100.0 * options_.confidence));
  }

  std::optional<LifetimesFit::Correlation> correlation() const {
    if (file_.times.empty()) return std::nullopt;
    constexpr double window_s = 60.0;
    return LifetimesFit::Correlation{window_s, lifetimes::correlation_index(file_.times, window_s)};
  }

  void add_groups(LifetimesFit& fit) const {
    std::vector<std::vector<lifetimes::Observation>> groups;
    const auto columns = parts_of(options_.by);
    for (const auto& sample : samples_by(file_, options_.by)) {
      groups.push_back(observations_of(file_, sample));
      LifetimesSample group = estimate(sample);
      for (std::size_t i = 0; i < columns.size(); ++i) group.values[columns[i]] = sample.values[i];
      fit.groups.push_back(std::move(group));
    }
    auto test = lifetimes::log_rank(groups);
    if (test.degrees > 0) fit.log_rank = std::move(test);
  }

  const FitOptions& options_;
  const LifetimesFile& file_;
  int draws_;
};

/// With the survival of each model at evenly spaced ages.
LifetimesFit with_points(LifetimesFit fit) {
  constexpr int count = 200;
  const double last = fit.all.curve.last;
  for (auto& model : fit.all.estimated->models) {
    const auto lifetime = lifetimes::make_lifetime(model.fitted.model, model.fitted.options);
    for (int i = 0; i <= count; ++i) {
      const double age = last * i / count;
      model.points.emplace_back(age, lifetime->survival(age));
    }
  }
  return fit;
}

void write_model(const FitOptions& options, const json& model) {
  write_whole_file(options.out, model.dump(1) + '\n');
  print_note("the model is in " + options.out);
}

void print_fit(const FitOptions& options, const LifetimesFit& fit) {
  if (!options.out.empty()) {
    write_model(options, model_file_of(fit));
    for (const LifetimesSample& group : fit.groups)
      if (!group.estimated)
        print_note(name_of_group(group) + ": too few departures to fit; its model is that of all machines");
  }
  if (!options.report.empty()) {
    std::filesystem::create_directories(options.report);
    validation::write_lifetimes_report(options.report, with_points(fit));
    print_note(fmt::format("curves in {}/report.html", options.report));
  }
  fmt::print("{}", lifetimes_text(fit));
  print_document(document_of(fit));
}

void print_replay(const FitOptions& options, const ReplayedFile& replay) {
  if (!options.by.empty())
    throw ConfigError(fmt::format("{}: --by: expected a model that is estimated, found '{}'", options.file,
                                  replay.chosen.name));
  if (!options.report.empty())
    throw ConfigError(fmt::format("{}: --report: expected a model that is estimated, found '{}'",
                                  options.file, replay.chosen.name));
  const json chosen = document_of(replay.chosen);
  if (!options.out.empty()) {
    json model = chosen;
    model["source"] = replay.source;
    write_model(options, model);
  }
  fmt::print("{}", replay.text);
  print_document({{"file", replay.file}, {"chosen", chosen}, {"source", replay.source}});
}

[[noreturn]] void refuse_model(const FitOptions& options, const std::string& expected) {
  throw ConfigError(
      fmt::format("{}: --model: expected {}, found '{}'", options.file, expected, options.model));
}

LifetimesFile lifetimes_of_nodes(const EventsFile& events) {
  if (const auto count = nodes_there_before(events); count > 0)
    print_note(
        fmt::format("{}: nodes that were there before the first event, so that their ages count from it: {}",
                    events.path, count));
  LifetimesFile file = lifetimes_of(events);
  if (file.observations.empty())
    throw ConfigError(events.path + ": expected nodes that were there for some time, found none");
  return file;
}

void fit_lifetimes(const FitOptions& options) {
  const bool replays_capacity = options.model == "capacity-trace";
  if (options.file.ends_with(".json")) {
    if (options.model != "auto" && !replays_capacity)
      refuse_model(options, "capacity-trace, because the file has numbers of machines");
    return print_replay(options, replay_capacity(options.file));
  }
  CsvTable table(options.file, "a table of lifetimes or of events");
  const bool are_events = has_events(table);
  if (replays_capacity)
    refuse_model(options, "a model of lifetimes, because the file has no numbers of machines");
  if (options.model == "trace" && !are_events)
    refuse_model(options, "a model of lifetimes, because the file has no events");
  LifetimesFile file;
  if (are_events) {
    const EventsFile events = read_events(std::move(table));
    if (options.model == "trace") return print_replay(options, replay_events(events));
    file = lifetimes_of_nodes(events);
  } else {
    file = read_lifetimes(std::move(table));
  }
  print_fit(options, Estimation(options, file).results());
}

// ---- Tables of times ----

constexpr const char* about_rows =
    "TABLE is a CSV file with the columns step_time (seconds, or 230ms) or steps_per_second (of all workers\n"
    "together), and any of workers, model, batch and keys of experiments (placement.workers, "
    "sync.collective);\n"
    "each row's cells replace those keys. The closed forms of `tandem predict` are fitted to the rows, "
    "together\n"
    "with the time of a forward and backward pass for each model, batch and device. From several starts; a\n"
    "number that the rows do not determine keeps its value, and a warning names it.\n";

void add_table_options(CLI::App& command, TableFitOptions& options) {
  command.add_option("TABLE", options.table, "Table of step times (.csv with a header)")->required();
  command
      .add_option("EXPERIMENT", options.job.experiment_file,
                  "Experiment with the platform, and all keys that the table does not have")
      ->required();
  add_override_options(command, options.job);
  command.add_option("--out", options.job.out, "Also write a copy of the platform file with what was found");
  command.add_flag("--force", options.job.force, "Replace the file of --out");
  command.add_option("--confidence", options.confidence, "Of intervals [0.95]")
      ->check(CLI::Range(0.5, 0.9999));
}

void fit_to_table(const TableFitOptions& options) {
  if (!options.job.out.empty() && std::filesystem::exists(options.job.out) && !options.job.force)
    throw ConfigError(options.job.out + " already exists; choose another name, or add --force");
  fit_table(options);
}

void add_fit_network(CLI::App& command) {
  auto* fit = command.add_subcommand(
      "network",
      "Bandwidth and latency of links from step times with several numbers of workers, or placements");
  const auto options = std::make_shared<TableFitOptions>();
  options->times.subject = FitSubject::network;
  add_table_options(*fit, *options);
  fit->add_option(
      "--links", options->times.links,
      "Links of the platform that change: names, separated by commas, where * is any text; others "
      "keep their numbers [*]");
  fit->add_flag("--window", options->times.has_window, "Also find TCP's window, which limits each message");
  fit->footer(std::string(about_rows) +
              "\nExamples:\n"
              "  tandem fit network measured.csv job.yaml --out platform_found.xml\n"
              "  tandem fit network measured.csv job.yaml --links 'site-*' --window");
  fit->callback([options] { fit_to_table(*options); });
}

void add_fit_server(CLI::App& command) {
  auto* fit = command.add_subcommand(
      "server", "Costs of parameter servers, and speeds of devices, from step times of a few workers");
  const auto options = std::make_shared<TableFitOptions>();
  options->times.subject = FitSubject::server;
  add_table_options(*fit, *options);
  fit->footer(std::string(about_rows) +
              "A server's costs need rows in which it is the limit. They are found with a job that has a "
              "closed form\n"
              "(`tandem predict`), and are then those of any job.\n\n"
              "Example:\n"
              "  tandem fit server speeds.csv job.yaml --variant asp --out platform_found.xml");
  fit->callback([options] { fit_to_table(*options); });
}

void add_fit_collectives(CLI::App& command) {
  auto* fit = command.add_subcommand("collectives", "Links and schedule behind measured all-reduces");
  const auto options = std::make_shared<CollectivesFitOptions>();
  const auto least = std::make_shared<std::string>();
  fit->add_option(
         "TABLE", options->tables,
         "Outputs of nccl-tests' all_reduce_perf, and CSV files with the columns ranks, bytes and time")
      ->required();
  fit->add_option("--ranks", options->ranks, "Number of ranks, if a table of nccl-tests does not say");
  fit->add_option("--least", *least,
                  "Leave out smaller all-reduces, such as 64KiB: libraries sum them in other ways");
  fit->add_option("--confidence", options->confidence, "Of intervals [0.95]")->check(CLI::Range(0.5, 0.9999));
  fit->footer(
      "Finds the schedule of `tandem list collective` that explains the times best, and what its messages "
      "cost.\n"
      "To use the times themselves in simulations: `tandem calibrate --from-nccl-tests`.\n\n"
      "Example:\n"
      "  tandem fit collectives all_reduce_2.txt all_reduce_8.txt --least 1MiB");
  fit->callback([options, least] {
    if (!least->empty()) {
      const auto size = parse_bytes(*least);
      if (!size) throw ConfigError("--least: expected a size such as 64KiB, found '" + *least + "'");
      options->least = *size;
    }
    fit_collectives(*options);
  });
}

void add_fit_lifetimes(CLI::App& command) {
  auto* fit = command.add_subcommand(
      "lifetimes", "Estimate how long machines live that may be taken away, and fit lifetime models");
  const auto options = std::make_shared<FitOptions>();
  fit->add_option("FILE", options->file,
                  "Table of lifetimes or of events (.csv with a header), or numbers of machines (.json)")
      ->required();
  fit->add_option("--by", options->by,
                  "Also estimate by these columns, separated by commas, and test whether "
                  "they differ");
  fit->add_option(
      "--out", options->out,
      "Write the chosen model to this file, which the key transience.lifetime of experiments takes");
  fit->add_option("--report", options->report,
                  "Also write report.html with the curves and the departures by age and hour of the day, "
                  "report.md and report.json to this folder");
  std::vector<std::string> models = {"auto", "empirical"};
  models.insert(models.end(), lifetimes::fitted_names().begin(), lifetimes::fitted_names().end());
  models.insert(models.end(), {"trace", "capacity-trace"});
  fit->add_option("--model", options->model,
                  fmt::format("{}; auto: the smallest AIC, or capacity-trace for numbers of machines [auto]",
                              fmt::join(models, ", ")))
      ->check(CLI::IsMember(models));
  fit->add_option("--mean-up-to", options->mean_up_to,
                  "Age such as 24h up to which the mean is taken [longest observation]");
  fit->add_option("--confidence", options->confidence, "Of intervals [0.95]")->check(CLI::Range(0.5, 0.9999));
  fit->add_option(
         "--bootstrap", options->bootstrap,
         "Intervals from so many draws of the groups; 0: by the profile likelihood [200 if the table "
         "has a column group, else 0]")
      ->check(CLI::Range(0, 100000));
  fit->add_option("--seed", options->seed, "Of the bootstrap [1]");
  fit->footer(
      "Lifetimes, columns: cause (revoked, failed: departures; stopped, limit, alive: the machine lived\n"
      "longer), duration (seconds, or 90min) or started and ended (2024-05-01T12:00:00Z). Optional:\n"
      "observed_from (the age at which observation began), alive_at (the last age at which a machine was\n"
      "seen that departed at an unknown age up to its duration), weight, group (machines that may depart\n"
      "together); all others can be named in --by. Prints the Kaplan-Meier estimate and the models, the "
      "best\n"
      "one first. With times on the clock (UTC), and more departures than parameters, also piecewise with a\n"
      "factor for each hour of the day (by_hour): as keys of an experiment, if it explains more than it "
      "costs.\n"
      "Where many machines end at the longest age, such as 24 h, this is a provider's limit: the models "
      "take\n"
      "these ends as censored, and have the option limit.\n"
      "Events, columns: time, event (add, remove, warn), node; optional: zone. Prints the same of the "
      "nodes'\n"
      "lifetimes; the model trace replays the events.\n"
      "Numbers of machines: {\"metadata\": {\"gap_seconds\": 600}, \"data\": [4, 4, 3]}. The model\n"
      "capacity-trace replays them. Examples:\n"
      "  tandem fit lifetimes lifetimes.csv\n"
      "  tandem fit lifetimes lifetimes.csv --by region,device --mean-up-to 24h --report curves\n"
      "  tandem fit lifetimes lifetimes.csv --model empirical --out model.json\n"
      "  tandem fit lifetimes events.csv --model trace --out model.json\n"
      "  tandem fit lifetimes capacity.json --out model.json");
  fit->callback([options] { fit_lifetimes(*options); });
}

// ---- Predictors of times ----

/// `usual`: features, as `tandem show MODEL --json` names them.
void add_fit_predictor(CLI::App& command, const std::string& subject, const std::string& summary,
                       std::vector<std::string> usual, const std::string& example) {
  auto* fit = command.add_subcommand(subject, summary);
  const auto options = std::make_shared<PredictorFitOptions>();
  options->subject = subject;
  options->table.usual = std::move(usual);
  options->table.are_of_steps = subject == "speed";
  fit->add_option("TABLE", options->table.file, "Table of measured times with features (.csv with a header)")
      ->required();
  fit->add_option(
         "--target", options->table.target,
         "Column of the times (seconds, 230ms, or in the unit of its name: 'Step Time (ms)', step_us); a "
         "column whose name has speed, per_second or /s holds rates")
      ->required();
  fit->add_option("--group", options->table.group,
                  "Column of the networks: each group is predicted by a fit without it")
      ->required();
  fit->add_option("--device", options->table.device, "Column of the devices, each of which has its own fit");
  fit->add_option(
      "--features", options->table.features,
      fmt::format("Columns, or features of the models in the column model, separated by commas [of {}, "
                  "those that the table has]",
                  fmt::join(options->table.usual, ", ")));
  fit->add_option("--ask", options->asked,
                  "Table with the same columns of features, and of devices, whose times are predicted");
  fit->add_option("--out", options->out, "Write the predictor to this file (.json)");
  fit->add_option(
      "--report", options->report,
      "Also write report.html, with predicted against measured times of each group by a fit without "
      "it, report.md and report.json to this folder");
  fit->add_option("--confidence", options->confidence, "Of intervals [0.9]")->check(CLI::Range(0.5, 0.9999));
  fit->footer(
      "The forms of `tandem list predictor` are fitted to the medians of rows with equal features, by "
      "relative\n"
      "errors. Scales, settings and the choice of a form belong to each fit without a group. Optional "
      "columns: run "
      "(which\n"
      "readings share a machine and hour), batch, precision. For new families of networks, or other "
      "devices,\n"
      "make them the groups. Without columns of features, those of the models in the column model count.\n\n"
      "Example:\n"
      "  " +
      example);
  fit->callback([options] { fit_predictor(*options); });
}

}  // namespace

void add_fit(CLI::App& app, int&) {
  auto* command = app.add_subcommand("fit",
                                     "Fit models to measured tables: lifetimes of machines, networks, "
                                     "servers, all-reduces, times of steps and "
                                     "checkpoints");
  command->require_subcommand(1);
  add_fit_lifetimes(*command);
  add_fit_network(*command);
  add_fit_server(*command);
  add_fit_collectives(*command);
  add_fit_predictor(
      *command, "speed", "Step times of networks from their features, with intervals",
      {"matrix_flops", "elementwise_bytes", "launches", "optimizer_bytes", "batch"},
      "tandem fit speed steps.csv --target step_time --group network --device gpu --out speed.json");
  add_fit_predictor(
      *command, "checkpoint", "Times of checkpoints from their sizes, with intervals",
      {"checkpoint_bytes", "tensors"},
      "tandem fit checkpoint written.csv --target duration --group network --out checkpoint.json");
  command->footer(
      "Examples:\n"
      "  tandem fit lifetimes lifetimes.csv --out model.json\n"
      "  tandem fit network measured.csv job.yaml --out platform_found.xml\n"
      "  tandem fit server speeds.csv job.yaml\n"
      "  tandem fit collectives all_reduce_2.txt all_reduce_8.txt\n"
      "  tandem fit speed steps.csv --target step_time --group network --device gpu --out speed.json");
}

}  // namespace tandem::cli
