// What a study's report shows: tables, charts and text, made from its document.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "validation/compare/headline.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/answer_page.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/platform_drawing.hpp"
#include "validation/report/several_jobs.hpp"
#include "validation/report/study.hpp"
#include "validation/report/view.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

using CellOf = std::function<Cell(const json&)>;

CellOf value_at(const char* key, Unit unit) {
  return [=](const json& own) { return Cell(with_unit(number_or_nan(own.at(key)), unit)); };
}
/// A value of an object that may be null.
CellOf value_in(const char* object, const char* key, std::string (*text)(double)) {
  return [=](const json& own) {
    return Cell(own.at(object).is_object() ? text(number_or_nan(own.at(object).at(key))) : "-");
  };
}
std::string times(double ratio) { return std::isfinite(ratio) ? three_digits(ratio) + "x" : "-"; }
std::string bytes(double value) { return with_unit(value, Unit::bytes); }
CellOf times_at(const char* key) {
  return [key](const json& own) { return Cell(times(number_or_nan(own.at(key)))); };
}

CellOf exchange_at(double Exchanges::*value) {
  return [value](const json& own) { return Cell(with_unit(exchanges_of(own).*value, Unit::count)); };
}

/// Null for workers that hold their samples.
json cache_hits(const json& own) { return own.value("cache_hit_ratio", json()); }

Cell hits_cell(const json& own) {
  return cache_hits(own).is_number() ? Cell(percent(number_or_nan(cache_hits(own)))) : "-";
}

Cell data_share(const json& own) {
  const json& shares = own.at("shares");
  return shares.is_object() && cache_hits(own).is_number() ? Cell(percent(number_or_nan(shares.at("data"))))
                                                           : "-";
}

/// What no other column shows.
Cell other_share(const json& own) {
  const json& shares = own.at("shares");
  if (!shares.is_object()) return "-";
  double sum = number_or_nan(shares.at("query")) + number_or_nan(shares.at("other"));
  if (!cache_hits(own).is_number()) sum += number_or_nan(shares.at("data"));
  return percent(sum);
}

/// Of the warm epochs; "-" without cache nodes.
CellOf warm_at(const std::string& key, std::string (*text)(double)) {
  return [place = json::json_pointer("/data/warm/" + key), text](const json& own) {
    return Cell(own.contains(place) ? text(number_or_nan(own.at(place))) : "-");
  };
}
std::string seconds_text(double value) { return with_unit(value, Unit::seconds); }

/// What the busiest server has of `what` (bytes or messages) under the configuration's sharding.
CellOf busiest_share(const std::string& what) {
  return [place = json::json_pointer("/environment/sharding/busiest/" + what + "/share")](const json& own) {
    return Cell(own.contains(place) ? percent(number_or_nan(own.at(place))) : "-");
  };
}

/// "-" where the grid has the number.
Cell workers_cell(const json& own) {
  return coordinate(own, "placement.worker_count").empty() ? value_at("workers", Unit::count)(own)
                                                           : Cell("-");
}

/// "-" where no machine may depart.
CellOf member_count(const std::string& key) {
  return [place = json::json_pointer("/membership/" + key)](const json& own) {
    return Cell(own.contains(place) ? with_unit(number_or_nan(own.at(place)), Unit::count) : "-");
  };
}

Cell target_cell(const json& own) {
  const json& target = own.at("time_to_target");
  if (!target.is_object() || target.at("evaluations") == 0) return "-";
  if (!target.at("reached").get<bool>()) return "not reached";
  return with_unit(number_or_nan(own.at("time_to_target_s")), Unit::seconds);
}

/// How a figure of study_figures reads.
struct FigureName {
  const char* name;
  std::string (*text)(double);
};
const FigureName& figure_name(const std::string& key) {
  constexpr auto seconds = [](double v) { return with_unit(v, Unit::seconds); };
  static const std::map<std::string, FigureName> names = {
      {"throughput", {"throughput", [](double v) { return with_unit(v, Unit::samples_per_second); }}},
      {"step_time_s", {"mean step time", seconds}},
      {"speed_up", {"speed-up in throughput", times}},
      {"time_to_target_s", {"time to the target accuracy", seconds}},
      {"target_speed_up", {"speed-up in time to the target accuracy", times}},
      {"read_target_speed_up", {"speed-up in time to target, curves evaluated as published", times}},
      {"best_accuracy", {"best accuracy", three_digits}}};
  return names.at(key);
}

Table published_table(const json& document) {
  const auto text_of = [](const char* key) -> CellOf {
    return [key](const json& row) {
      return Cell(figure_name(row.at("figure")).text(number_or_nan(row.at(key))));
    };
  };
  const auto name = [](const json& row) { return Cell(figure_name(row.at("figure")).name); };
  const auto what = [=](const json& row) {
    const std::string own = row.at("what");
    return own.empty() ? name(row) : Cell(own);
  };
  return table_of(
      pointers_to(document.at("published")),
      {{"Configuration", [](const json& row) { return Cell(row.at("configuration").get<std::string>()); }},
       {"Published", text_of("value")},
       {"published figure", what, true},
       {"Simulated", text_of("ours")},
       {"simulated figure", name, true},
       {"Simulated / published",
        [](const json& row) { return Cell(three_digits(number_or_nan(row.at("ratio")))); }},
       {"Source", [](const json& row) { return Cell(row.at("source").get<std::string>()); }, true}});
}

// ---- Pages ----

const char* const shares_definition =
    "Shares are of the makespan, means over workers. Exchange: the part that does not overlap computing, "
    "split into communicating and waiting if every message was recorded. Data: waiting for samples from "
    "storage and caches, and decoding them. Other: decoding samples that workers hold in memory, queries to "
    "a "
    "coordinator, and the time before the first and after the last step. Bottlenecks count waiting in an "
    "exchange as what the last worker of the round "
    "did, and name decoding apart from waiting for samples. Bytes: payload sent or received by all workers, "
    "per sample that they processed.";

void add_failed(const json& document, Page& page) {
  for (const auto& own : document.at("configurations"))
    if (own.at("failure") != "")
      page.add(Heading{3, own.at("name").get<std::string>() + ": failed"}, Code{own.at("failure"), true});
}

/// Of a bar chart with that many rows.
std::size_t height_of(std::size_t rows) { return 60 + 22 * std::max<std::size_t>(rows, 2); }

void add_published(const json& document, Page& page) {
  Table table = published_table(document);
  if (table.rows.empty()) return;
  page.add(Heading{2, "Comparison with published figures"});
  const auto gains = std::ranges::count_if(document.at("published"), [](const json& row) {
    return row.at("figure").get<std::string>().ends_with("speed_up") && row.at("ours").is_number();
  });
  if (gains > 0)
    page.add(Charts{{{"published", "Speed-ups", height_of(2 * static_cast<std::size_t>(gains))}}});
  page.add(std::move(table));
}

/// The stall that was found with a capacity; NaN: it was not tried, or the job is not possible with it.
double stall_with(const json& least, double capacity) {
  for (const auto& tried : least.at("tried"))
    if (tried.at(0) == capacity && tried.at(1).is_number()) return tried.at(1);
  return std::numeric_limits<double>::quiet_NaN();
}

/// One row per configuration with cache nodes, whether of one job or of several, of studies with a limit for
/// their stall.
Table capacities_table(const json& document) {
  std::vector<const json*> having = compared_configurations(document);
  // Several jobs have one capacity, which all of them need.
  if (document.contains("several_jobs"))
    for (const json* all : pointers_to(document.at("several_jobs"))) having.push_back(all);
  std::erase_if(having, [](const json* own) { return !own->value("least_capacity", json()).is_object(); });
  const auto of = [](auto cell) -> CellOf {
    return [cell](const json& own) { return Cell(cell(own.at("least_capacity"))); };
  };
  const auto found = [](const json& least) { return least.at("capacity_bytes").is_number(); };
  const auto whole = [](const json& least) { return least.at("data_set_bytes").get<double>(); };
  return table_of(
      having,
      {{"Configuration", [](const json& own) { return Cell(own.at("name").get<std::string>()); }},
       {"Stall at most", of([](const json& least) { return percent(least.at("stall").get<double>()); })},
       {"Least cache capacity", of([=](const json& least) {
          return found(least) ? with_unit(least.at("capacity_bytes").get<double>(), Unit::bytes)
                              : std::string("none suffices");
        })},
       {"of the data set", of([=](const json& least) {
          return found(least) ? percent(least.at("capacity_bytes").get<double>() / whole(least))
                              : std::string("-");
        })},
       {"Stall with it", of([=](const json& least) {
          return found(least) ? percent(stall_with(least, least.at("capacity_bytes"))) : std::string("-");
        })},
       {"without a cache", of([](const json& least) { return percent(stall_with(least, 0)); })},
       {"with all samples in it",
        of([=](const json& least) { return percent(stall_with(least, whole(least))); })}});
}

void add_capacities(const json& document, Page& page) {
  Table table = capacities_table(document);
  if (table.rows.empty()) return;
  page.add(Heading{2, "Least cache capacity"},
           Note{"The least data.cache_capacity with which the workers of each job wait for samples no longer "
                "than the given share of their steps in warm epochs, in steps of 0.5 % of the data set or of "
                "its largest "
                "sample, whichever is more. The search assumes that a larger cache never makes workers wait "
                "longer, and that mathematics is modelled."},
           std::move(table));
}

void add_accuracy(const json& document, const Answer& answer, Page& page) {
  if (std::ranges::all_of(compared_configurations(document),
                          [](const json* own) { return own->at("curve").empty(); }))
    return;
  Charts over_time = charts_of_places(answer, "accuracy", 320);
  if (over_time.charts.empty()) return;
  page.add(Heading{2, "Test accuracy over simulated time"});
  if (over_time.charts.size() > 1) return page.add(std::move(over_time));
  over_time.charts.front().title = "Over time";
  over_time.charts.push_back({"accuracy-samples-0", "Over samples", 320});
  page.add(std::move(over_time));
}

std::string plus_minus(const json& figure, const char* format) {
  if (!figure.is_object()) return "-";
  return fmt::format(fmt::runtime(format), figure.at("mean").get<double>(),
                     figure.at("deviation").get<double>());
}

/// No rows: no configurations differ in their seed alone.
Table seeds_table(const json& seeds) {
  const auto accuracy = [](const char* key, const char* format) {
    return [=](const json& own) { return Cell(plus_minus(own.at(key), format)); };
  };
  return without_empty_columns(table_of(
      pointers_to(seeds),
      {{"Over all seeds", [](const json& own) { return Cell(own.at("name").get<std::string>()); }},
       {"Seeds",
        [](const json& own) {
          return Cell(with_unit(static_cast<double>(own.at("configurations").size()), Unit::count));
        }},
       {"Samples trained on",
        [](const json& own) { return Cell(with_unit(number_or_nan(own.at("samples")), Unit::count)); }},
       {"Last accuracy", accuracy("last_accuracy", "{:.4f} ± {:.4f}")},
       {"Difference from the baseline", accuracy("accuracy_gain", "{:+.4f} ± {:.4f}")},
       {"Best accuracy", accuracy("best_accuracy", "{:.4f} ± {:.4f}")},
       {"Makespan in s", accuracy("makespan_s", "{:.5g} ± {:.2g}")},
       {"Samples per second", accuracy("throughput", "{:.4g} ± {:.2g}")}}));
}

const char* const seeds_definition =
    "Means over the seeds, with the standard deviation after the sign. The last accuracy is that of the last "
    "evaluation, which may be some steps before the end. A difference is the mean over the seeds in common, "
    "with its standard error after the sign: one that is smaller than twice that error may be chance.";

/// Without accuracy the comparison has all means.
void add_seeds(const json& document, Page& page, int level) {
  const json& seeds = document.at("seeds");
  if (std::ranges::none_of(seeds, [](const json& own) { return own.at("last_accuracy").is_object(); }))
    return;
  Table table = seeds_table(seeds);
  page.add(Heading{level, "Means over seeds"}, Note{seeds_definition}, std::move(table));
}

void add_study_commands(const json& document, Page& page) {
  std::string commands;
  for (const auto& command : document.at("commands"))
    commands += (commands.empty() ? "" : "\n") + command.get<std::string>();
  page.add(Heading{2, "Reproduce"}, Code{commands});
  std::set<std::string> shown;
  for (const auto* own : compared_configurations(document)) {
    const json& environment = own->at("environment");
    const std::string platform =
        std::filesystem::path(own->at("experiment").at("platform").get<std::string>()).filename().string();
    if (!shown.insert(platform + environment.at("physics").dump() + environment.at("versions").dump()).second)
      continue;
    Table table{.columns = {{"Simulated with"}, {platform, true}}, .size = Table::Size::narrow};
    for (const char* key : {"physics", "versions"})
      for (const auto& [name, text] : flattened(environment.at(key))) table.rows.push_back({{name, text}});
    page.add(std::move(table));
  }
}

void add_classes(const std::vector<const json*>& configurations, Page& page) {
  Table table = classes_of_study(configurations);
  if (table.rows.empty()) return;
  page.add(
      Heading{2, "Where samples came from"},
      Note{"Shares of the samples that workers were given: from the tiers of their own cache node, other "
           "cache nodes (peer), the store, or other samples in place of the wanted ones (substituted). "
           "peer-miss is a part of store; background and wasted are reads ahead of requests."},
      std::move(table));
}

/// The first columns of a table of configurations: the values of the grid, or the name where nothing varies.
std::vector<JsonColumn> name_columns(const json& document) {
  std::vector<JsonColumn> columns;
  const auto keys = grid_keys(document);
  if (keys.empty())
    return {{"Configuration", [](const json& own) { return Cell(own.at("name").get<std::string>()); }}};
  columns.push_back(
      {"Variant", [](const json& own) { return Cell(own.at("algorithm").get<std::string>()); }, true});
  for (const auto& key : keys)
    columns.push_back({axis_name(key),
                       [key](const json& own) {
                         const std::string value = coordinate(own, key);
                         return Cell(value.empty() ? "-" : value);
                       },
                       true});
  return columns;
}

Cell throughput_interval(const json& own) {
  const json& interval = own.at("intervals").at("throughput");
  if (!interval.is_array()) return Cell("-");
  const auto end = [&](std::size_t which) { return with_unit(interval.at(which), Unit::samples_per_second); };
  return Cell(end(0) + " to " + end(1));
}

Table table_of_configurations(const json& document, const std::vector<JsonColumn>& figures) {
  auto columns = name_columns(document);
  columns.insert(columns.end(), figures.begin(), figures.end());
  return without_empty_columns(table_of(compared_configurations(document), columns));
}

/// Where the time of the workers went.
Table times_table(const json& document) {
  return table_of_configurations(
      document, {{"Computing", value_in("shares", "computing", percent)},
                 {"Data", data_share},
                 {"Exchange", value_in("shares", "exchange", percent)},
                 {"communicating", value_in("exchange_shares", "communicating", percent)},
                 {"waiting", value_in("exchange_shares", "waiting", percent)},
                 {"Other", other_share},
                 {"Bytes sent per sample", value_in("bytes_per_sample", "sent", bytes)},
                 {"Bytes received per sample", value_in("bytes_per_sample", "received", bytes)}});
}

void add_configurations(const json& document, const Answer& answer, Page& page) {
  page.add(Heading{2, "Where workers' time went"}, Note{shares_definition});
  if (Charts charts = charts_of_places(answer, "shares", 0); !charts.charts.empty())
    page.add(std::move(charts));
  // A grid has too many rows for a reader; study.csv has the same figures.
  Table figures = configurations_table(document), times = times_table(document);
  const bool is_grid = answer.across || answer.panels.size() > 1 || figures.rows.size() > 12;
  if (!is_grid) return page.add(std::move(times), Heading{2, "Figures of each variant"}, std::move(figures));
  figures.size = times.size = Table::Size::scrolling;
  page.add(Details{"Every configuration: figures", {{std::move(figures)}}},
           Details{"Every configuration: where time went", {{std::move(times)}}});
}

void add_warnings(const json& document, Page& page) {
  Bullets warnings;
  for (const auto& warning : document.at("warnings"))
    warnings.texts.push_back("Warning: " + warning.get<std::string>());
  if (!warnings.texts.empty()) page.add(std::move(warnings));
  if (const std::string job = document.at("question");
      !job.empty() && job != document.at("answer").at("question"))
    page.add(Note{"Job: " + job});
}

Page page_of_study(const json& document) {
  Page page{document.at("title").get<std::string>() + ": a study", "Tandem study (simulated)"};
  const Answer answer = answer_of(document);
  add_answer(answer, page);
  add_warnings(document, page);
  add_failed(document, page);
  const auto worked = compared_configurations(document);
  if (!worked.empty()) {
    add_comparison(answer, page);
    add_published(document, page);
    add_seeds(document, page, 2);
    add_jobs_of_study(document, page);
    add_capacities(document, page);
    add_accuracy(document, answer, page);
  }
  if (!document.at("notes").empty())
    page.add(Heading{2, "Notes"}, Bullets{document.at("notes").get<std::vector<std::string>>()});
  if (worked.empty()) return page;
  add_configurations(document, answer, page);
  add_classes(worked, page);
  add_platforms(document, page);
  add_study_commands(document, page);
  return page;
}

/// What the charts show.
json study_chart_data(const json& document) {
  json drawn = json::object();
  for (const auto* own : compared_configurations(document))
    drawn[own->at("name").get<std::string>()] = {{"curve", own->at("curve")},
                                                 {"interval", own->at("intervals").at("throughput")},
                                                 {"target", own->at("experiment").at("target_accuracy")}};
  return {{"configurations", std::move(drawn)},
          {"answer", document.at("answer")},
          {"published", document.at("published")}};
}

}  // namespace

Table configurations_table(const json& document) {
  return table_of_configurations(
      document, {{"Time to target", target_cell},
                 {"Speed-up in time to target", times_at("target_speed_up")},
                 {"Throughput", value_at("throughput", Unit::samples_per_second)},
                 {"90 % of simulations", throughput_interval},
                 {"Speed-up", times_at("speed_up")},
                 {"Local steps per exchange", exchange_at(&Exchanges::steps)},
                 {"Exchanges", exchange_at(&Exchanges::count)},
                 {"Mean staleness", exchange_at(&Exchanges::staleness)},
                 {"Best accuracy",
                  [](const json& own) { return Cell(three_digits(number_or_nan(own.at("best_accuracy")))); }},
                 {"Reads from the cache", hits_cell},
                 {"Share of the bound", warm_at("bound/attained", percent)},
                 {"Share of Belady's", warm_at("belady/attained", percent)},
                 {"Stall", warm_at("stall", percent)},
                 {"Time per warm epoch", warm_at("epoch_time_s", seconds_text)},
                 {"Workers", workers_cell},
                 {"Step time", value_at("step_time_s", Unit::seconds)},
                 {"Bytes at the busiest server", busiest_share("bytes")},
                 {"Messages at the busiest server", busiest_share("messages")},
                 {"Departures", member_count("departures")},
                 {"Lost samples", member_count("lost_samples")},
                 {"Time to target, curves as published", value_at("read_time_to_target_s", Unit::seconds)},
                 {"Speed-up, curves as published", times_at("read_target_speed_up")}});
}

std::string study_table(const json& document) {
  Page page;
  const Answer answer = answer_of(document);
  add_answer(answer, page);
  add_warnings(document, page);
  if (!answer.across) page.add(Note{""});
  add_comparison_tables(answer, page);
  // A terminal is too narrow for all columns, and too short for a grid.
  const auto worked = compared_configurations(document);
  if (!answer.across && answer.panels.size() == 1 && answer.panels.front().rows.size() == worked.size())
    page.add(Note{""},
             narrowed(configurations_table(document),
                      {"Configuration", "Variant", "Speed-up", "Local steps per exchange", "Exchanges",
                       "Mean staleness", "Best accuracy", "Reads from the cache", "Share of the bound",
                       "Share of Belady's", "Stall", "Time per warm epoch", "Workers", "Step time"}));
  add_seeds(document, page, 3);
  if (Table jobs = study_jobs_table(document); !jobs.rows.empty())
    page.add(Heading{3, "Several jobs on one platform"}, study_all_jobs_table(document), Note{""},
             std::move(jobs));
  if (Table least = capacities_table(document); !least.rows.empty()) page.add(Note{""}, std::move(least));
  if (Table published = published_table(document); !published.rows.empty())
    page.add(Note{""},
             narrowed(std::move(published), {"Configuration", "Published", "published figure", "Simulated",
                                             "simulated figure", "Simulated / published"}));
  add_failed(document, page);
  return to_text(page);
}

std::string study_markdown(const json& document) { return to_markdown(page_of_study(document)); }

std::string study_html(const json& document) {
  return to_html(page_of_study(document), study_chart_data(document), {pieces::study});
}

void write_study(const std::string& directory, const json& document) {
  write_report_files(directory, document, study_markdown(document), study_html(document));
  write_whole_file((std::filesystem::path(directory) / "study.csv").string(),
                   study_csv(document, answer_of(document)));
}

}  // namespace tandem::validation
