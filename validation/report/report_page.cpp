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
#include "validation/report/report_tables.hpp"
#include "validation/report/several_jobs.hpp"
#include "validation/report/view.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

std::string signed_at(const json& row, const char* key) { return signed_percent(number_or_nan(row.at(key))); }
std::string percent_at(const json& row, const char* key) { return percent(number_or_nan(row.at(key))); }

/// Says, before the figures, what they are if they are no errors.
void add_other_origin(const json& document, Page& page) {
  for (const json* configuration : compared_configurations(document))
    if (const std::string why = configuration->at("other_origin"); !why.empty())
      return page.add(Heading{3, "Differences between two networks or devices, not errors of a prediction"},
                      Note{fmt::format("{} ({}).", why, configuration->at("name").get<std::string>())});
}

// ---- Parts of the page ----

Banner banner_of(const json& document) {
  Banner banner{document.at("state"), document.at("verdict")};
  for (const auto& reason : document.at("reasons")) banner.points.push_back(reason);
  for (const auto& step : document.at("advice"))
    banner.points.push_back("what to do: " + step.get<std::string>());
  return banner;
}

constexpr const char* error_hint = "(simulated - measured) / measured";
constexpr const char* noise_hint = "how much repeated measurements differ from each other; needs two or more";

void add_head(const json& document, Page& page) {
  add_opening(document, page);
  page.add(banner_of(document));
  add_other_origin(document, page);
  const auto compared = compared_configurations(document);
  if (compared.empty()) return;
  Tiles tiles;
  const auto add = [&](const std::string& name, const std::string& value, const std::string& hint) {
    tiles.tiles.push_back({name, value, hint});
  };
  if (compared.size() == 1) {
    const json& step_time = *find_figure(*compared.front(), "step_time");
    add("error of step time", signed_at(step_time, "error"), error_hint);
    add("its 95 % interval", interval_text(step_time.at("interval"), signed_percent),
        "10,000 moving-block resamples of steps and repetitions");
    add("noise floor of step time", percent_at(step_time, "noise_floor"), noise_hint);
    add("error of throughput", signed_at(*find_figure(*compared.front(), "throughput"), "error"), error_hint);
    return page.add(std::move(tiles));
  }
  const json& set = document.at("sets").front();
  const std::string of = set.at("name") == "all" ? "" : ", hold-out";
  for (const auto& errors : set.at("errors")) {
    if (errors.at("key") != "step_time") continue;
    add("mean |error| of step time" + of, percent_at(errors, "mape"), error_hint);
    add("its 90 % interval", interval_text(errors.at("mape_interval"), percent),
        "resamples of configurations");
    add("bias" + of, signed_at(errors, "bias"),
        "mean error with its sign: below 0, the simulation is too fast");
    add("p95 of |error|", percent_at(errors, "p95"), "19 of 20 configurations have a smaller error");
    add("noise floor", percent_at(errors, "noise_floor"), noise_hint);
  }
  if (!set.at("groups").empty()) {
    add("rank agreement (Spearman)", three_digits(number_or_nan(set.at("ranking").at("mean_spearman"))),
        "rank correlation of simulated and measured throughput: 1 is the same order, -1 the opposite");
    add("loss from choosing by simulation (regret)", percent_at(set.at("ranking"), "mean_regret"),
        "throughput lost by running the configuration that is fastest in the simulation, instead of the "
        "fastest");
  }
  page.add(std::move(tiles));
}

void add_failures(const json& document, Page& page) {
  for (const json* failed : failed_configurations(document))
    page.add(Heading{3, failed->at("name").get<std::string>() + ": failed"},
             Code{failed->at("failure"), true});
  for (const auto& [gate, detail] : failed_gates(document)) page.add(Heading{3, gate}, Code{detail, true});
}

/// In the chart of errors, up to this many configurations have a line of their own.
constexpr std::size_t most_named_lines = 40;

void add_predicted(const json& document, Page& page) {
  const std::size_t count = compared_configurations(document).size();
  const std::size_t height = count <= most_named_lines ? std::max<std::size_t>(120, 70 + 30 * count) : 400;
  page.add(Heading{2, "Predicted and measured step time"},
           Charts{{{"scatter", "Mean step time, one point per configuration", 320},
                   {"step-error", "Error of step time with its 95 % interval, sorted", height}}});
}

void add_errors(const json& document, Page& page) {
  page.add(Heading{2, "Errors over configurations"});
  int undefined = 0;
  bool is_first = true;
  for (const auto& set : document.at("sets")) {
    if (set.at("errors").empty()) continue;
    for (const auto& errors : set.at("errors")) undefined += errors.at("undefined").get<int>();
    const std::string name = set.at("name");
    const std::string title = fmt::format("{} ({})", name == "all" ? "All configurations" : name + " set",
                                          set.at("configurations").get<int>() - set.at("failed").get<int>());
    Note distributions{
        fmt::format("Distributions of step times, mean over configurations: Kolmogorov-Smirnov distance {}, "
                    "Wasserstein-1 "
                    "distance {} of the measured mean.",
                    three_digits(set.at("mean_kolmogorov")), percent(set.at("mean_wasserstein")))};
    Table table = errors_table(pointers_to(set.at("errors")), document.at("tolerance"));
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

void add_phases_and_hosts(const json& document, Page& page) {
  const std::size_t all = document.at("hosts").size(), hosts = std::min<std::size_t>(all, 16);
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

void add_ranking(const json& document, Page& page) {
  const json& set = document.at("sets").front();
  const json& groups = set.at("groups");
  if (groups.empty()) return;
  page.add(Heading{2, "Ranking by throughput"}, Note{ranking_text(set)});
  if (const auto gains = speed_up_text(set); !gains.empty()) page.add(Note{gains});
  if (groups.size() == 1) {
    const json& variants = groups.front().at("variants");
    if (std::ranges::any_of(variants, [](const json& variant) { return variant.at("target").is_number(); }))
      page.add(Note{"Time to the target accuracy excludes evaluation time."});
    return page.add(group_table(groups.front()),
                    Charts{{{"throughput", "Throughput", 70 + 42 * variants.size()}}});
  }
  page.add(groups_table(groups));
  constexpr std::size_t most_tables = 24;
  if (groups.size() > most_tables) return;
  Details all{"All groups in full", {}};
  for (const auto& group : groups) {
    all.content.push_back({Heading{3, group.at("name")}});
    all.content.push_back({group_table(group)});
  }
  page.add(std::move(all));
}

Details details_of(const json& configuration) {
  Details details{configuration.at("name"), {}};
  const auto add = [&](auto block) { details.content.push_back({std::move(block)}); };
  Table gates{.columns = {{"Check"}, {"Result", true}, {"What was compared", true}}};
  for (const char* gate : {"operations", "decisions", "replay"}) {
    const json& found = configuration.at("gates").at(gate);
    gates.rows.push_back(
        {{gate, Cell(found.at("state"), Cell::Mark::badge), found.at("detail").get<std::string>()}});
  }
  add(std::move(gates));
  add(figures_table(pointers_to(configuration.at("figures"))));
  add(attribution_table(configuration.at("attribution")));
  add(metrics_table(configuration));
  if (const json data = configuration.value("data", json()); data.is_object()) add(classes_table(data));
  if (const json members = configuration.at("detail").value("members", json()); members.is_object()) {
    add(occupants_table(members));
    if (const int left = members.at("occupants_left_out"); left > 0)
      add(Note{fmt::format("{} more machines are in membership.csv.", left)});
    if (auto notes = members_notes(configuration); !notes.empty()) add(Bullets{std::move(notes)});
  }
  if (Table launches = launches_of_configuration(configuration); !launches.rows.empty())
    add(std::move(launches));
  if (const auto target = target_text(configuration); !target.empty()) add(Note{target});
  const json& ranks = configuration.at("detail").at("ranks");
  add(workers_table(ranks));
  if (const int left = ranks.at("left_out"); left > 0)
    add(Note{fmt::format("{} more workers are in summary.json.", left)});
  return details;
}

void add_configurations(const json& document, Page& page) {
  page.add(Heading{2, "All figures"},
           Note{"P50, P95, P99: quantiles of step time, simulated / measured. KS: Kolmogorov-Smirnov "
                "distance of the "
                "distributions of step times. W1: their Wasserstein-1 distance over the measured mean."},
           overview_table(document));
  const auto detailed = detailed_configurations(document);
  const std::size_t compared = compared_configurations(document).size();
  if (detailed.size() < compared)
    page.add(Note{
        fmt::format("Of {} configurations, {} are shown in detail: the {} with the largest errors of step "
                    "time and {} chosen evenly. report.json holds the figures of all.",
                    compared, detailed.size(), most_worst_details, most_even_details)});
  for (const json* configuration : detailed) page.add(details_of(*configuration));
}

Bullets profiles_of(const json& document) {
  Bullets bullets;
  for (const auto& profile : document.at("profiles")) {
    const json& settings = profile.at("settings_of");
    const std::size_t users = profile.at("configurations").size();
    bullets.texts.push_back(fmt::format(
        "Calibration profile {}: measured {} by `{}`{}; used by {} configuration{}",
        profile.at("path").get<std::string>(), profile.value("date", "never"), profile.value("command", "-"),
        settings.is_string() ? " with the settings of " + settings.get<std::string>() : "", users,
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
Table environment_table(const json& configuration) {
  const json& simulated = configuration.at("environment").at("simulated");
  const json& measured = configuration.at("environment").at("measured");
  Table table{.columns = {{"Environment"}, {"Simulation", true}, {"Measurement", true}}};
  for (const auto& [key, name] : {std::pair("machine", "Machine"), std::pair("started", "Started")})
    table.rows.push_back({{name, simulated.at(key).get<std::string>(), measured.at(key).get<std::string>()}});
  add_flattened("version of ", simulated.at("versions"), measured.at("versions"), table);
  add_flattened("", simulated.at("physics"), measured.at("physics"), table);
  const json& experiment = configuration.at("experiment");
  const std::string platform = experiment.at("platform"), seed = experiment.at("seed").dump();
  table.rows.push_back({{"Platform", platform, platform}});
  table.rows.push_back({{"Seed", seed, seed}});
  table.rows.push_back({{"Runs", configuration.at("draws").dump(), configuration.at("repetitions").dump()}});
  return table;
}

void add_reproduce(const json& document, Page& page) {
  constexpr std::size_t most = 60;
  const json& commands = document.at("commands");
  std::string lines;
  for (std::size_t i = 0; i < std::min(commands.size(), most); ++i)
    lines += (lines.empty() ? "" : "\n") + commands[i].get<std::string>();
  page.add(Heading{2, "Reproduce"}, Code{lines});
  if (commands.size() > most)
    page.add(Note{fmt::format("{} more commands are in report.json.", commands.size() - most)});
  const auto compared = compared_configurations(document);
  if (compared.empty()) return;
  page.add(profiles_of(document), environment_table(*compared.front()));
  if (compared.size() > 1)
    page.add(
        Note{"This is the environment of the first configuration; report.json holds those of the others."});
}

Page page_of_report(const json& document) {
  Page page{document.at("title").get<std::string>() + ": simulated and measured", "Tandem validation report"};
  add_head(document, page);
  add_failures(document, page);
  if (!compared_configurations(document).empty()) {
    add_predicted(document, page);
    add_errors(document, page);
    add_phases_and_hosts(document, page);
    add_ranking(document, page);
    add_several_jobs(document, page);
    add_data(document, page);
    add_members(document, page);
    add_launches(document, page);
    if (!detailed_configurations(document).empty()) page.add(Heading{2, "Details"}, Explorer{});
    add_configurations(document, page);
  }
  add_platforms(document, page);
  if (auto notes = remarks(document); !notes.empty())
    page.add(Heading{2, "Notes"}, Bullets{std::move(notes)});
  add_reproduce(document, page);
  return page;
}

// ---- What the charts show ----

json point_of(const json& configuration) {
  const json& step = *find_figure(configuration, "step_time");
  return {{"name", configuration.at("name")}, {"algorithm", configuration.at("algorithm")},
          {"set", configuration.at("set")},   {"simulated", step.at("simulated")},
          {"measured", step.at("measured")},  {"error", step.at("error")},
          {"interval", step.at("interval")}};
}

json detail_of(const json& configuration, const json& phases) {
  json detail = configuration.at("detail");
  detail["name"] = configuration.at("name");
  detail["error"] = signed_at(*find_figure(configuration, "step_time"), "error");
  detail["target"] = configuration.at("experiment").at("target_accuracy");
  for (const char* key : {"staleness", "local_steps", "phase_order"})
    detail[key] = {{"simulated", configuration.at("metrics").at("simulated").at(key)},
                   {"measured", configuration.at("metrics").at("measured").front().at(key)}};
  for (const char* world : {"simulated", "measured"})
    for (const auto& phase : phases) {
      const json* figure = find_figure(configuration, "phase." + phase.get<std::string>());
      detail["phases"][world].push_back(figure == nullptr ? json(0) : figure->at(world));
    }
  json parts = json::array();
  constexpr std::size_t most = 7;
  const json& attribution = configuration.at("attribution");
  double rest = attribution.at("others").at("share");
  for (const auto& part : attribution.at("parts")) {
    if (parts.size() == most)
      rest += part.at("share").get<double>();
    else
      parts.push_back({attribution_text(part), part.at("share")});
  }
  detail["attribution"] = {{"parts", std::move(parts)}, {"rest", rest}, {"total", attribution.at("total")}};
  return detail;
}

json report_chart_data(const json& document) {
  json points = json::array(), details = json::array(), phases = json::array();
  for (const json* configuration : compared_configurations(document))
    points.push_back(point_of(*configuration));
  for (const json* configuration : detailed_configurations(document))
    details.push_back(detail_of(*configuration, document.at("phases")));
  const json& set = document.at("sets").front();
  for (const auto& errors : set.at("errors"))
    if (errors.at("contribution").is_number() && is_phase(errors))
      phases.push_back({errors.at("name"), errors.at("contribution"), errors.at("absolute_contribution")});
  return {{"tolerance", document.at("tolerance")},
          {"named_lines", most_named_lines},
          {"points", std::move(points)},
          {"phase_errors", std::move(phases)},
          {"hosts", document.at("hosts")},
          {"ranking", set.at("groups").size() == 1 ? set.at("groups").front() : json()},
          {"phases", document.at("phases")},
          {"details", std::move(details)}};
}

// ---- For a terminal ----

Page summary_of(const json& document) {
  const json& configurations = document.at("configurations");
  // With more configurations, phases would fill the terminal.
  const bool few = configurations.size() <= 8;
  Page page;
  add_opening(document, page);
  add_other_origin(document, page);
  page.add(main_figures(document, few));
  for (const json* configuration : compared_configurations(document)) {
    const std::string name = configuration->at("name"), parity = parity_state(*configuration);
    if (few || parity == "failed")
      page.add(Note{fmt::format("{}: parity {}, replay {}", name, parity,
                                configuration->at("gates").at("replay").at("state").get<std::string>())});
    if (const auto target = target_text(*configuration); few && !target.empty())
      page.add(Note{fmt::format("{}: {}", name, target)});
  }
  if (Table jobs = jobs_table(document); !jobs.rows.empty())
    page.add(Heading{3, "Several jobs on one platform, simulated / measured"}, std::move(jobs), Note{""},
             all_jobs_table(document));
  if (Table data = data_table(document); few && !data.rows.empty())
    page.add(Heading{3, "Samples from caches and stores, simulated / measured"}, std::move(data));
  if (Table members = members_table(document); few && !members.rows.empty()) {
    page.add(Heading{3, "Departures and arrivals of machines, simulated / measured"}, std::move(members));
    for (const json* configuration : compared_configurations(document))
      for (const auto& note : members_notes(*configuration))
        page.add(Note{fmt::format("{}: {}", configuration->at("name").get<std::string>(), note)});
  }
  if (Table launches = launches_overview(document); few && !launches.rows.empty())
    page.add(Heading{3, "Launches of jobs that started again"}, std::move(launches));
  add_failures(document, page);
  const json& sets = document.at("sets");
  if (configurations.size() > 1)
    for (const auto& set : sets)
      if (!set.at("errors").empty() && (sets.size() == 1 || set.at("name") != "all"))
        page.add(Heading{3, "Errors over configurations: " + set.at("name").get<std::string>()},
                 narrowed(errors_table(pointers_to(set.at("errors")), document.at("tolerance")),
                          {"Figure", "Bias", "Mean |error|", "p95", "Largest", "Noise floor", "Largest in"}));
  for (const auto& line : {coverage_text(sets.front()), members_text(document), ranking_text(sets.front()),
                           speed_up_text(sets.front())})
    if (!line.empty()) page.add(Note{"\n" + line});
  for (const auto& warning : machine_warnings(document)) page.add(Note{"\nwarning: " + warning});
  page.add(banner_of(document));
  return page;
}

}  // namespace

std::string summary_table(const json& document) { return to_text(summary_of(document)); }

std::string report_markdown(const json& document) { return to_markdown(page_of_report(document)); }

std::string report_html(const json& document) {
  return to_html(page_of_report(document), report_chart_data(document),
                 {pieces::charts, pieces::data, pieces::members, pieces::explore});
}

void write_report(const std::string& directory, const json& document) {
  write_report_files(directory, document, report_markdown(document), report_html(document));
  write_whole_file(directory + "/figures.csv", figures_csv(document));
}

}  // namespace tandem::validation
