#include "validation/report/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "validation/page/pieces.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/figures_csv.hpp"
#include "validation/report/launches.hpp"
#include "validation/report/members.hpp"
#include "validation/report/opening.hpp"
#include "validation/report/page.hpp"
#include "validation/report/platform_drawing.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_fields.hpp"
#include "validation/report/report_tables.hpp"
#include "validation/report/several_jobs.hpp"
#include "validation/report/view.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// Says, before the figures, what they are if they are no errors.
void add_other_origin(const Report& report, Page& page) {
  for (const auto* configuration : report.compared())
    if (const std::string& why = configuration->other_origin; !why.empty())
      return page.add(Heading{3, "Differences between two networks or devices, not errors of a prediction"},
                      Note{fmt::format("{} ({}).", why, configuration->name)});
}

// ---- Parts of the page ----

Banner banner_of(const Report& report) {
  Banner banner{report.state, report.verdict, report.reasons};
  for (const std::string& step : report.advice) banner.points.push_back("what to do: " + step);
  return banner;
}

constexpr const char* error_hint = "(simulated - measured) / measured";
constexpr const char* noise_hint = "how much repeated measurements differ from each other; needs two or more";

void add_head(const Report& report, Page& page) {
  add_opening(report, page);
  page.add(banner_of(report));
  add_other_origin(report, page);
  const auto compared = report.compared();
  if (compared.empty()) return;
  Tiles tiles;
  const auto add = [&](const std::string& name, const std::string& value, const std::string& hint) {
    tiles.tiles.push_back({name, value, hint});
  };
  if (compared.size() == 1) {
    const ReportFigure& step_time = *compared.front()->find("step_time");
    add("error of step time", signed_percent(step_time.error), error_hint);
    add("its 95 % interval", interval_text(step_time.interval, signed_percent),
        "10,000 moving-block resamples of steps and repetitions");
    add("noise floor of step time", percent(value_or_nan(step_time.noise_floor)), noise_hint);
    add("error of throughput", signed_percent(compared.front()->find("throughput")->error), error_hint);
    return page.add(std::move(tiles));
  }
  const SetSummary& set = report.sets.front();
  const std::string of = set.name == "all" ? "" : ", hold-out";
  for (const ErrorSummary& errors : set.errors) {
    if (errors.key != "step_time") continue;
    add("mean |error| of step time" + of, percent(errors.mape), error_hint);
    add("its 90 % interval", interval_text(errors.mape_interval, percent), "resamples of configurations");
    add("bias" + of, signed_percent(errors.bias),
        "mean error with its sign: below 0, the simulation is too fast");
    add("p95 of |error|", percent(errors.p95), "19 of 20 configurations have a smaller error");
    add("noise floor", percent(value_or_nan(errors.noise_floor)), noise_hint);
  }
  if (!set.groups.empty()) {
    add("rank agreement (Spearman)", three_digits(value_or_nan(set.mean_spearman)),
        "rank correlation of simulated and measured throughput: 1 is the same order, -1 the opposite");
    add("loss from choosing by simulation (regret)", percent(set.mean_regret),
        "throughput lost by running the configuration that is fastest in the simulation, instead of the "
        "fastest");
  }
  page.add(std::move(tiles));
}

void add_failures(const Report& report, Page& page) {
  for (const auto& configuration : report.configurations)
    if (configuration.failed())
      page.add(Heading{3, configuration.name + ": failed"}, Code{configuration.failure, true});
  for (const auto& [gate, detail] : failed_gates(report)) page.add(Heading{3, gate}, Code{detail, true});
}

/// In the chart of errors, up to this many configurations have a line of their own.
constexpr std::size_t most_named_lines = 40;

void add_predicted(const Report& report, Page& page) {
  const std::size_t count = report.compared().size();
  const std::size_t height = count <= most_named_lines ? std::max<std::size_t>(120, 70 + 30 * count) : 400;
  page.add(Heading{2, "Predicted and measured step time"},
           Charts{{{"scatter", "Mean step time, one point per configuration", 320},
                   {"step-error", "Error of step time with its 95 % interval, sorted", height}}});
}

void add_errors(const Report& report, Page& page) {
  page.add(Heading{2, "Errors over configurations"});
  int undefined = 0;
  bool is_first = true;
  for (const SetSummary& set : report.sets) {
    if (set.errors.empty()) continue;
    for (const ErrorSummary& errors : set.errors) undefined += errors.undefined;
    const std::string title =
        fmt::format("{} ({})", set.name == "all" ? "All configurations" : set.name + " set",
                    set.configurations - set.failed);
    Note distributions{
        fmt::format("Distributions of step times, mean over configurations: Kolmogorov-Smirnov distance {}, "
                    "Wasserstein-1 "
                    "distance {} of the measured mean.",
                    three_digits(set.mean_kolmogorov), percent(set.mean_wasserstein))};
    Table table = errors_table(set.errors, report.tolerance);
    if (is_first)
      page.add(Heading{3, title}, std::move(table), std::move(distributions));
    else
      page.add(Details{title, {{std::move(table)}, {std::move(distributions)}}});
    if (const auto coverage = coverage_text(set); is_first && !coverage.empty()) page.add(Note{coverage});
    is_first = false;
  }
  if (undefined > 0)
    page.add(
        Note{fmt::format("{} relative errors are undefined because the measured value is 0; no mean includes "
                         "them.",
                         undefined)});
}

void add_phases_and_hosts(const Report& report, Page& page) {
  const std::size_t all = report.hosts.size(), hosts = std::min<std::size_t>(all, 16);
  page.add(
      Heading{2, "Where the error is"},
      Note{"The contributions of the phases add up to the error of step time. A small total can hide phases "
           "that err in "
           "opposite directions."},
      Charts{{{"phase-errors", "Contribution by phase", 270},
              {"host-errors", "Error of step time by host", std::max<std::size_t>(150, 60 + 34 * hosts)}}});
  if (all > hosts)
    page.add(Note{fmt::format("Shown are {} of {} hosts, those with the largest errors.", hosts, all)});
}

void add_ranking(const Report& report, Page& page) {
  const SetSummary& set = report.sets.front();
  const auto& groups = set.groups;
  if (groups.empty()) return;
  page.add(Heading{2, "Ranking by throughput"}, Note{ranking_text(set)});
  if (const auto gains = speed_up_text(set); !gains.empty()) page.add(Note{gains});
  if (groups.size() == 1) {
    const auto& variants = groups.front().variants;
    if (std::ranges::any_of(variants,
                            [](const RankedVariant& variant) { return variant.target.has_value(); }))
      page.add(Note{"Time to the target accuracy excludes evaluation time."});
    return page.add(group_table(groups.front()),
                    Charts{{{"throughput", "Throughput", 70 + 42 * variants.size()}}});
  }
  page.add(groups_table(groups));
  constexpr std::size_t most_tables = 24;
  if (groups.size() > most_tables) return;
  Details all{"All groups in full", {}};
  for (const auto& group : groups) {
    all.content.push_back({Heading{3, group.group}});
    all.content.push_back({group_table(group)});
  }
  page.add(std::move(all));
}

Details details_of(const ReportConfiguration& configuration) {
  Details details{configuration.name, {}};
  const auto add = [&](auto block) { details.content.push_back({std::move(block)}); };
  Table gates{.columns = {{"Check"}, {"Result", true}, {"What was compared", true}}};
  const auto add_gate = [&](const char* name, const Gate& gate) {
    gates.rows.push_back({{name, Cell(state_name(gate.state), Cell::Mark::badge), gate.detail}});
  };
  add_gate("operations", configuration.gates.operations);
  add_gate("decisions", configuration.gates.decisions);
  add_gate("replay", configuration.gates.replay);
  add(std::move(gates));
  add(figures_table(configuration.figures));
  add(attribution_table(configuration.attribution));
  add(metrics_table(configuration));
  if (configuration.data) add(classes_table(*configuration.data));
  if (const auto& members = configuration.detail->members) {
    if (Table numbers = numbers_of_workers_table(configuration); !numbers.rows.empty())
      add(std::move(numbers));
    add(occupants_table(*members));
    if (members->occupants_left_out > 0)
      add(Note{fmt::format("{} more machines are in membership.csv.", members->occupants_left_out)});
    if (auto notes = members_notes(configuration); !notes.empty()) add(Bullets{std::move(notes)});
  }
  if (Table launches = launches_of_configuration(configuration); !launches.rows.empty())
    add(std::move(launches));
  if (const auto target = target_text(configuration); !target.empty()) add(Note{target});
  const ShownRanks& ranks = configuration.detail->ranks;
  add(workers_table(ranks));
  if (ranks.left_out > 0) add(Note{fmt::format("{} more workers are in summary.json.", ranks.left_out)});
  return details;
}

void add_configurations(const Report& report, Page& page) {
  page.add(Heading{2, "All figures"},
           Note{"P50, P95, P99: quantiles of step time, simulated / measured. KS: Kolmogorov-Smirnov "
                "distance of the "
                "distributions of step times. W1: their Wasserstein-1 distance over the measured mean."},
           overview_table(report));
  const auto detailed = report.detailed();
  const std::size_t compared = report.compared().size();
  if (detailed.size() < compared)
    page.add(Note{
        fmt::format("Of {} configurations, {} are shown in detail: the {} with the largest errors of step "
                    "time and {} chosen evenly. report.json holds the figures of all.",
                    compared, detailed.size(), most_worst_details, most_even_details)});
  for (const auto* configuration : detailed) page.add(details_of(*configuration));
}

Bullets profiles_of(const Report& report) {
  Bullets bullets;
  for (const ReportProfile& profile : report.profiles) {
    const std::size_t users = profile.configurations.size();
    bullets.texts.push_back(
        fmt::format("Calibration profile {}: measured {} by `{}`{}; used by {} configuration{}", profile.path,
                    profile.date.value_or("never"), profile.command.value_or("-"),
                    profile.settings_of ? " with the settings of " + *profile.settings_of : "", users,
                    users == 1 ? "" : "s"));
  }
  return bullets;
}

/// One row for each value that one of the two has.
void add_flattened(const std::string& prefix, const json& simulated, const json& measured, Table& table) {
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (const auto& [name, text] : flattened(simulated)) rows[name].first = text;
  for (const auto& [name, text] : flattened(measured)) rows[name].second = text;
  for (const auto& [name, texts] : rows) {
    const auto known = [](const std::string& text) { return text.empty() ? "-" : text; };
    table.rows.push_back({{prefix + name, known(texts.first), known(texts.second)}});
  }
}

/// How the first configuration was simulated and measured.
Table environment_table(const ReportConfiguration& configuration) {
  const RunInfo& simulated = configuration.environment.simulated;
  const RunInfo& measured = configuration.environment.measured;
  Table table{.columns = {{"Environment"}, {"Simulation", true}, {"Measurement", true}}};
  table.rows.push_back({{"Machine", simulated.machine, measured.machine}});
  table.rows.push_back({{"Started", simulated.started, measured.started}});
  add_flattened("version of ", simulated.versions, measured.versions, table);
  add_flattened("", simulated.physics, measured.physics, table);
  const std::string &platform = configuration.experiment.platform,
                    seed = std::to_string(configuration.experiment.seed);
  table.rows.push_back({{"Platform", platform, platform}});
  table.rows.push_back({{"Seed", seed, seed}});
  table.rows.push_back(
      {{"Runs", std::to_string(configuration.draws), std::to_string(configuration.repetitions)}});
  return table;
}

void add_reproduce(const Report& report, Page& page) {
  constexpr std::size_t most = 60;
  const auto& commands = report.commands;
  std::string lines;
  for (std::size_t i = 0; i < std::min(commands.size(), most); ++i)
    lines += (lines.empty() ? "" : "\n") + commands[i];
  page.add(Heading{2, "Reproduce"}, Code{lines});
  if (commands.size() > most)
    page.add(Note{fmt::format("{} more commands are in report.json.", commands.size() - most)});
  const auto compared = report.compared();
  if (compared.empty()) return;
  page.add(profiles_of(report), environment_table(*compared.front()));
  if (compared.size() > 1)
    page.add(
        Note{"This is the environment of the first configuration; report.json holds those of the others."});
}

Page page_of_report(const Report& report) {
  Page page{report.title + ": simulated and measured", "Tandem validation report"};
  add_head(report, page);
  add_failures(report, page);
  if (!report.compared().empty()) {
    add_predicted(report, page);
    add_errors(report, page);
    add_phases_and_hosts(report, page);
    add_ranking(report, page);
    add_several_jobs(report, page);
    add_data(report, page);
    add_members(report, page);
    add_launches(report, page);
    if (!report.detailed().empty()) page.add(Heading{2, "Details"}, Explorer{});
    add_configurations(report, page);
  }
  add_platforms(report.platforms, page);
  if (auto notes = remarks(report); !notes.empty()) page.add(Heading{2, "Notes"}, Bullets{std::move(notes)});
  add_reproduce(report, page);
  return page;
}

// ---- What the charts show ----

json point_of(const ReportConfiguration& configuration) {
  const ReportFigure& step = *configuration.find("step_time");
  return {{"name", configuration.name},
          {"algorithm", configuration.algorithm},
          {"set", configuration.set},
          {"simulated", step.simulated},
          {"measured", step.measured},
          {"error", step.error},
          {"interval", write_fields(step.interval)}};
}

/// A figure of the simulation and of the first measured run.
template <class Member>
json both_runs(const ReportMetrics& metrics, Member RunMetrics::*member) {
  return {{"simulated", write_fields(metrics.simulated.*member)},
          {"measured", write_fields(metrics.measured.front().*member)}};
}

json detail_of(const ReportConfiguration& configuration, const std::vector<std::string>& phases) {
  json detail = write_fields(*configuration.detail);
  detail["name"] = configuration.name;
  detail["error"] = signed_percent(configuration.find("step_time")->error);
  detail["target"] = configuration.experiment.target_accuracy;
  detail["staleness"] = both_runs(configuration.metrics, &RunMetrics::staleness);
  detail["local_steps"] = both_runs(configuration.metrics, &RunMetrics::local_steps);
  detail["phase_order"] = both_runs(configuration.metrics, &RunMetrics::phase_order);
  for (const std::string& phase : phases) {
    const ReportFigure* figure = configuration.find("phase." + phase);
    detail["phases"]["simulated"].push_back(figure == nullptr ? json(0) : json(figure->simulated));
    detail["phases"]["measured"].push_back(figure == nullptr ? json(0) : json(figure->measured));
  }
  json parts = json::array();
  constexpr std::size_t most = 7;
  const ReportAttribution& attribution = configuration.attribution;
  double rest = attribution.others.share;
  for (const AttributedPart& part : attribution.parts) {
    if (parts.size() == most)
      rest += part.share;
    else
      parts.push_back({attribution_text(part), part.share});
  }
  detail["attribution"] = {{"parts", std::move(parts)}, {"rest", rest}, {"total", attribution.total}};
  return detail;
}

json report_chart_data(const Report& report) {
  json points = json::array(), details = json::array(), phases = json::array();
  for (const auto* configuration : report.compared()) points.push_back(point_of(*configuration));
  for (const auto* configuration : report.detailed())
    details.push_back(detail_of(*configuration, report.phases));
  const SetSummary& set = report.sets.front();
  for (const ErrorSummary& errors : set.errors)
    if (errors.contribution && is_phase(errors.key))
      phases.push_back({errors.name, *errors.contribution, write_fields(errors.absolute_contribution)});
  return {{"tolerance", report.tolerance},
          {"named_lines", most_named_lines},
          {"points", std::move(points)},
          {"phase_errors", std::move(phases)},
          {"hosts", write_fields(report.hosts)},
          {"ranking", set.groups.size() == 1 ? write_fields(set.groups.front()) : json()},
          {"phases", report.phases},
          {"details", std::move(details)}};
}

// ---- For a terminal ----

Page summary_of(const Report& report) {
  // With more configurations, phases would fill the terminal.
  const bool few = report.configurations.size() <= 8;
  Page page;
  add_opening(report, page);
  add_other_origin(report, page);
  page.add(main_figures(report, few));
  for (const auto* configuration : report.compared()) {
    const std::string &name = configuration->name, parity = parity_state(*configuration);
    if (few || parity == "failed")
      page.add(Note{fmt::format("{}: parity {}, replay {}", name, parity,
                                state_name(configuration->gates.replay.state))});
    if (const auto target = target_text(*configuration); few && !target.empty())
      page.add(Note{fmt::format("{}: {}", name, target)});
  }
  if (Table jobs = jobs_table(report); !jobs.rows.empty())
    page.add(Heading{3, "Several jobs on one platform, simulated / measured"}, std::move(jobs), Note{""},
             all_jobs_table(report));
  if (Table data = data_table(report); few && !data.rows.empty())
    page.add(Heading{3, "Samples from caches and stores, simulated / measured"}, std::move(data));
  if (Table members = members_table(report); few && !members.rows.empty()) {
    page.add(Heading{3, "Departures and arrivals of machines, simulated / measured"}, std::move(members));
    for (const auto* configuration : report.compared())
      for (const auto& note : members_notes(*configuration))
        page.add(Note{fmt::format("{}: {}", configuration->name, note)});
  }
  if (Table launches = launches_overview(report); few && !launches.rows.empty())
    page.add(Heading{3, "Launches of jobs that started again"}, std::move(launches));
  add_failures(report, page);
  const auto& sets = report.sets;
  if (report.configurations.size() > 1)
    for (const SetSummary& set : sets)
      if (!set.errors.empty() && (sets.size() == 1 || set.name != "all"))
        page.add(Heading{3, "Errors over configurations: " + set.name},
                 narrowed(errors_table(set.errors, report.tolerance),
                          {"Figure", "Bias", "Mean |error|", "p95", "Largest", "Noise floor", "Largest in"}));
  for (const auto& line : {coverage_text(sets.front()), members_text(report), ranking_text(sets.front()),
                           speed_up_text(sets.front())})
    if (!line.empty()) page.add(Note{"\n" + line});
  for (const auto& warning : machine_warnings(report)) page.add(Note{"\nwarning: " + warning});
  page.add(banner_of(report));
  return page;
}

}  // namespace

std::string summary_table(const Report& report) { return to_text(summary_of(report)); }

std::string report_markdown(const Report& report) { return to_markdown(page_of_report(report)); }

std::string report_html(const Report& report) {
  return to_html(page_of_report(report), report_chart_data(report),
                 {pieces::charts, pieces::data, pieces::members, pieces::explore});
}

void write_report(const std::string& directory, const Report& report) {
  write_report_files(directory, to_json(report), report_markdown(report), report_html(report));
  write_whole_file(directory + "/figures.csv", figures_csv(report));
}

}  // namespace tandem::validation
