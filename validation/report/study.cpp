#include "validation/report/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/compare/headline.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/opening.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

json ratio(const json& above, const json& below) {
  if (!above.is_number() || !below.is_number() || below.get<double>() == 0) return nullptr;
  return above.get<double>() / below.get<double>();
}

json curve_of(const json& summary) {
  json curve = json::array();
  for (const auto& evaluation : summary.at("evaluations"))
    if (evaluation.at("accuracy").is_number())
      curve.push_back(
          {evaluation.at("checkpoint_time_s"), evaluation.at("samples"), evaluation.at("accuracy")});
  return curve;
}

json best_of(const json& curve) {
  json best;
  for (const auto& point : curve)
    if (best.is_null() || point[2].get<double>() > best.get<double>()) best = point[2];
  return best;
}

bool works(const json& configuration) { return configuration.at("failure") == ""; }

void add_reading(std::vector<json>& configurations, const std::optional<CurveReading>& reading) {
  for (auto& own : configurations) {
    if (!works(own)) continue;
    own["read_time_to_target_s"] = nullptr;
    const json& target = own.at("time_to_target");
    if (!reading || !target.is_object()) continue;
    if (const auto time = read_time_to(target.at("target"), own.at("curve"), *reading))
      own["read_time_to_target_s"] = *time;
  }
}

// ---- Speed-ups ----

/// The configuration of the group with that algorithm; if none is named, bsp, preferably over a server. Null
/// when there is none.
const json* baseline_of(const json& member, const std::vector<json>& all, const std::string& algorithm) {
  const json* found = nullptr;
  for (const auto& candidate : all) {
    if (!works(candidate) || candidate.at("group") != member.at("group")) continue;
    if (!algorithm.empty()) {
      if (candidate.at("algorithm") == algorithm) return &candidate;
      continue;
    }
    const json& sync = candidate.at("experiment").at("sync");
    if (sync.at("algorithm") != "bsp") continue;
    if (sync.at("over") == "server") return &candidate;
    if (found == nullptr) found = &candidate;
  }
  return found;
}

void add_speed_ups(std::vector<json>& configurations, const std::string& algorithm) {
  for (auto& own : configurations) {
    if (!works(own)) continue;
    const json* baseline = baseline_of(own, configurations, algorithm);
    own["baseline"] = baseline == nullptr ? json() : baseline->at("name");
    own["speed_up"] = baseline == nullptr ? json() : ratio(own.at("throughput"), baseline->at("throughput"));
    const auto gain_in = [&](const char* time) {
      return baseline == nullptr ? json() : ratio(baseline->at(time), own.at(time));
    };
    own["target_speed_up"] = gain_in("time_to_target_s");
    own["read_target_speed_up"] = gain_in("read_time_to_target_s");
  }
}

// ---- The first lines ----

template <class Value>
std::optional<Value> optional_at(const json& own, const char* key) {
  return own.at(key).is_number() ? std::optional<Value>(own.at(key)) : std::nullopt;
}

std::vector<Contender> contenders_of(const std::vector<json>& configurations) {
  std::vector<Contender> all;
  for (const auto& own : configurations) {
    if (!works(own)) continue;
    const json& target = own.at("time_to_target");
    all.push_back({.name = own.at("name"),
                   .group = own.at("group"),
                   .algorithm = own.at("algorithm"),
                   .throughput = own.at("throughput"),
                   .exchanges = exchanges_of(own),
                   .has_accuracy = !own.at("curve").empty(),
                   .target = target.is_object() ? optional_at<double>(target, "target") : std::nullopt,
                   .time_to_target = optional_at<double>(own, "time_to_target_s"),
                   .baseline = own.at("baseline").is_string() ? own.at("baseline") : json(""),
                   .speed_up = optional_at<double>(own, "speed_up"),
                   .target_speed_up = optional_at<double>(own, "target_speed_up")});
  }
  return all;
}

std::string question_of(const std::vector<json>& configurations) {
  std::vector<std::vector<std::string>> questions;
  for (const auto& own : configurations)
    if (works(own)) questions.push_back(own.at("question"));
  return question_line(questions);
}

/// Those of the headline, then those of each job, once.
json all_warnings(const std::vector<json>& configurations, std::vector<std::string> warnings) {
  for (const auto& own : configurations) {
    if (!works(own)) continue;
    for (const std::string warning : own.at("warnings"))
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(warning);
  }
  return warnings;
}

// ---- Lines ----

json line_json(const std::string& name, std::vector<const json*> members, double share) {
  std::stable_sort(members.begin(), members.end(), [](const json* a, const json* b) {
    return a->at("workers").get<int>() < b->at("workers").get<int>();
  });
  json names = json::array(), workers = json::array(), throughput = json::array(), efficiency = json::array();
  std::vector<std::pair<int, double>> points;
  for (const auto* member : members) {
    const int count = member->at("workers");
    if (!points.empty() && points.back().first == count) continue;
    points.emplace_back(count, member->at("throughput").get<double>());
    names.push_back(member->at("name"));
    workers.push_back(count);
    throughput.push_back(points.back().second);
    const double first = points.front().second / points.front().first;
    efficiency.push_back(points.back().second / count / first);
  }
  if (points.size() < 2) return nullptr;
  const auto knee = knee_of(points, share);
  return {{"name", name},
          {"configurations", std::move(names)},
          {"workers", std::move(workers)},
          {"throughput", std::move(throughput)},
          {"efficiency", std::move(efficiency)},
          {"knee", knee ? json(*knee) : json()}};
}

json lines_json(const std::vector<json>& configurations, double share) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const json*>> members;
  for (const auto& configuration : configurations) {
    if (!works(configuration)) continue;
    const std::string name = configuration.at("line");
    if (members[name].empty()) order.push_back(name);
    members[name].push_back(&configuration);
  }
  json lines = json::array();
  for (const auto& name : order)
    if (json line = line_json(name, members.at(name), share); !line.is_null())
      lines.push_back(std::move(line));
  return lines;
}

json published_json(const std::vector<json>& configurations, const std::vector<PublishedFigure>& figures) {
  json all = json::array();
  for (const auto& figure : figures) {
    const auto own = std::find_if(
        configurations.begin(), configurations.end(),
        [&](const json& configuration) { return configuration.at("name") == figure.configuration; });
    // A study of chosen configurations lacks the others.
    if (own == configurations.end()) continue;
    const json ours = works(*own) ? own->at(figure.figure) : json();
    all.push_back({{"configuration", figure.configuration},
                   {"figure", figure.figure},
                   {"what", figure.what},
                   {"value", figure.value},
                   {"source", figure.source},
                   {"ours", ours},
                   {"ratio", ratio(ours, figure.value)}});
  }
  return all;
}

// ---- Tables ----

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

Cell other_share(const json& own) {
  const json& shares = own.at("shares");
  if (!shares.is_object()) return "-";
  double sum = 0;
  for (const char* key : {"data", "query", "other"}) sum += number_or_nan(shares.at(key));
  return percent(sum);
}

Cell target_cell(const json& own) {
  const json& target = own.at("time_to_target");
  if (!target.is_object() || target.at("evaluations") == 0) return "-";
  if (!target.at("reached").get<bool>()) return "not reached";
  return with_unit(number_or_nan(own.at("time_to_target_s")), Unit::seconds);
}

std::vector<const json*> those_that_worked(const json& document) {
  auto all = pointers_to(document.at("configurations"));
  std::erase_if(all, [](const json* own) { return !works(*own); });
  return all;
}

Table knees_table(const json& document) {
  const auto count = [](const json& value) { return with_unit(value.get<double>(), Unit::count); };
  const auto workers = [=](const json& line) {
    return Cell(count(line.at("workers").front()) + " to " + count(line.at("workers").back()));
  };
  const auto throughput = [](const json& value) {
    return with_unit(number_or_nan(value), Unit::samples_per_second);
  };
  return table_of(
      pointers_to(document.at("lines")),
      {{"Line", [](const json& line) { return Cell(line.at("name").get<std::string>()); }},
       {"Workers", workers},
       {"Throughput, first",
        [=](const json& line) { return Cell(throughput(line.at("throughput").front())); }},
       {"Throughput, last", [=](const json& line) { return Cell(throughput(line.at("throughput").back())); }},
       {"Efficiency, last",
        [](const json& line) { return Cell(percent(number_or_nan(line.at("efficiency").back()))); }},
       {"Knee", [=](const json& line) {
          return Cell(line.at("knee").is_number() ? count(line.at("knee"))
                                                  : "none up to " + count(line.at("workers").back()));
        }}});
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

std::string knee_definition(const json& document) {
  return fmt::format(
      "The knee is the smallest number of workers from which going to the next larger number raises "
      "throughput by "
      "less than {} of a proportional gain. Efficiency is the throughput per worker relative to the first "
      "point of "
      "the line.",
      percent(document.at("knee_share")));
}

const char* const shares_definition =
    "Shares are of the makespan, means over workers. Exchange: the part that does not overlap computing, "
    "split into communicating and waiting if every message was recorded. Other: data loading, queries to a "
    "coordinator, and the time before the first and after the last step. Bytes: payload sent or received by "
    "all workers, per sample that they processed.";

void add_failed(const json& document, Page& page) {
  for (const auto& own : document.at("configurations"))
    if (!works(own))
      page.add(Heading{3, own.at("name").get<std::string>() + ": failed"}, Code{own.at("failure"), true});
}

/// Of a bar chart with that many rows.
std::size_t height_of(std::size_t rows) { return 60 + 22 * std::max<std::size_t>(rows, 2); }

/// The configurations that worked, as small multiples: one panel per group, or one for all if that says more.
struct Panel {
  std::string title;
  std::vector<std::size_t> members;  ///< positions among the configurations that worked
};
std::vector<Panel> panels_of(const json& document) {
  constexpr std::size_t most = 12;
  const auto worked = those_that_worked(document);
  std::vector<Panel> panels;
  for (std::size_t i = 0; i < worked.size(); ++i) {
    const std::string group = worked[i]->at("group");
    const auto known = std::ranges::find(panels, group, &Panel::title);
    (known == panels.end() ? panels.emplace_back(Panel{group, {}}) : *known).members.push_back(i);
  }
  const bool has_groups =
      panels.size() > 1 && panels.size() <= most &&
      std::ranges::any_of(panels, [](const Panel& panel) { return panel.members.size() > 1; });
  if (has_groups) return panels;
  Panel all{"", {}};
  for (std::size_t i = 0; i < worked.size(); ++i) all.members.push_back(i);
  return {all};
}

/// A chart for each panel. `height`: pixels; 0: as many rows as the panel has members.
Charts charts_of(const std::vector<Panel>& panels, const std::string& id, const std::string& title,
                 std::size_t height = 0) {
  Charts charts;
  for (std::size_t i = 0; i < panels.size(); ++i)
    charts.charts.push_back({id + '-' + std::to_string(i), panels[i].title.empty() ? title : panels[i].title,
                             height > 0 ? height : height_of(panels[i].members.size())});
  return charts;
}

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

void add_scaling(const json& document, Page& page) {
  if (document.at("lines").empty())
    return page.add(Heading{2, "Throughput"},
                    charts_of(panels_of(document), "throughput", "Throughput by configuration"));
  page.add(Heading{2, "Scaling: throughput and number of workers"}, Note{knee_definition(document)},
           Charts{{{"line-throughput", "Throughput by number of workers; the knee is the large point", 380},
                   {"line-efficiency", "Efficiency by number of workers", 380}}},
           knees_table(document));
}

void add_accuracy(const json& document, Page& page) {
  if (std::ranges::all_of(those_that_worked(document),
                          [](const json* own) { return own->at("curve").empty(); }))
    return;
  const auto panels = panels_of(document);
  if (panels.size() > 1)
    return page.add(Heading{2, "Test accuracy over simulated time"}, charts_of(panels, "accuracy", "", 300));
  Charts both = charts_of(panels, "accuracy", "Test accuracy over simulated time", 340);
  both.charts.push_back({"accuracy-samples-0", "Test accuracy over samples", 340});
  page.add(Heading{2, "Accuracy"}, std::move(both));
}

void add_study_commands(const json& document, Page& page) {
  std::string commands;
  for (const auto& command : document.at("commands"))
    commands += (commands.empty() ? "" : "\n") + command.get<std::string>();
  page.add(Heading{2, "Reproduce"}, Code{commands});
  std::set<std::string> shown;
  for (const auto* own : those_that_worked(document)) {
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

Page page_of_study(const json& document) {
  Page page{document.at("title").get<std::string>() + ": a study", "Tandem study (simulated)"};
  add_opening(document, page);
  if (const std::string about = document.at("about"); !about.empty()) page.add(Note{about});
  add_failed(document, page);
  const auto worked = those_that_worked(document);
  if (!worked.empty()) add_published(document, page);
  if (!worked.empty()) {
    add_scaling(document, page);
    add_accuracy(document, page);
  }
  if (!document.at("notes").empty())
    page.add(Heading{2, "Notes"}, Bullets{document.at("notes").get<std::vector<std::string>>()});
  if (worked.empty()) return page;
  const Table all = configurations_table(document);
  page.add(Heading{2, "Configurations"},
           narrowed(all, {"Configuration", "Time to target", "Speed-up in time to target", "Throughput",
                          "Speed-up", "Local steps per exchange", "Exchanges", "Mean staleness",
                          "Best accuracy", "Workers", "Step time", "Time to target, curves as published",
                          "Speed-up, curves as published"}),
           Heading{2, "Where workers' time went"}, Note{shares_definition},
           charts_of(panels_of(document), "shares", "Shares of the makespan"),
           narrowed(all, {"Configuration", "Computing", "Exchange", "communicating", "waiting", "Other",
                          "Bytes sent per sample", "Bytes received per sample"}));
  add_study_commands(document, page);
  return page;
}

/// What the charts show.
json study_chart_data(const json& document) {
  json drawn = json::array();
  for (const auto* own : those_that_worked(document)) {
    json entry = json::object();
    for (const char* key :
         {"name", "algorithm", "workers", "throughput", "shares", "exchange_shares", "curve"})
      entry[key] = own->at(key);
    entry["target"] = own->at("experiment").at("target_accuracy");
    drawn.push_back(std::move(entry));
  }
  json panels = json::array();
  for (const auto& panel : panels_of(document))
    panels.push_back({{"title", panel.title}, {"configurations", panel.members}});
  return {{"configurations", std::move(drawn)},
          {"panels", std::move(panels)},
          {"lines", document.at("lines")},
          {"published", document.at("published")}};
}

}  // namespace

std::optional<int> knee_of(const std::vector<std::pair<int, double>>& points, double share) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto& [workers, throughput] = points[i];
    const auto& [more, higher] = points[i + 1];
    TANDEM_CHECK(workers > 0 && more > workers && throughput > 0, "workers", workers, "and", more);
    if (higher / throughput - 1 < share * (static_cast<double>(more) / workers - 1)) return workers;
  }
  return std::nullopt;
}

std::optional<double> read_time_to(double target, const json& curve, const CurveReading& reading) {
  std::vector<std::pair<double, double>> points = {{0.0, reading.start}};
  const auto every = static_cast<std::size_t>(reading.every), mean = static_cast<std::size_t>(reading.mean);
  for (std::size_t i = every; i <= curve.size(); i += every)
    points.emplace_back(curve[i - 1][0].get<double>(), curve[i - 1][2].get<double>());
  for (std::size_t last = 0; last < points.size(); ++last) {
    double sum = 0;
    for (std::size_t back = 0; back < mean; ++back) sum += points[last - std::min(back, last)].second;
    if (sum / reading.mean >= target) return points[last].first;
  }
  return std::nullopt;
}

json study_configuration(const StudyConfiguration& configuration, const json& summary, const json& run) {
  json environment = run;
  environment.erase("experiment");
  const json& target = summary.at("time_to_target");
  const double samples = std::max(1.0, summary.at("samples").get<double>());
  const json& bytes = summary.at("bytes");
  json curve = curve_of(summary);
  json best = best_of(curve);
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"line", configuration.line},
          {"failure", ""},
          {"workers", run.at("experiment").at("placement").at("workers").size()},
          {"throughput", summary.at("throughput")},
          {"applied_throughput", summary.at("applied_throughput")},
          {"step_time_s", summary.at("step_time_s").at("mean")},
          {"question", run.value("question", std::vector<std::string>{})},
          {"warnings", run.value("warnings", std::vector<std::string>{})},
          {"makespan_s", summary.at("makespan_s")},
          {"rounds", summary.at("rounds")},
          {"samples", summary.at("samples")},
          {"bytes", bytes},
          {"bytes_per_sample",
           {{"sent", bytes.at("sent").get<double>() / samples},
            {"received", bytes.at("received").get<double>() / samples}}},
          {"shares", summary.at("shares")},
          {"exchange_shares", summary.at("exchange_shares")},
          {"staleness", summary.at("staleness")},
          {"local_steps", summary.at("local_steps")},
          {"time_to_target", target},
          {"time_to_target_s", target.is_object() ? target.at("checkpoint_time_s") : json()},
          {"best_accuracy", std::move(best)},
          {"curve", std::move(curve)},
          {"experiment", run.at("experiment")},
          {"command", run.at("command")},
          {"environment", std::move(environment)}};
}

json failed_study_configuration(const StudyConfiguration& configuration, const std::string& failure) {
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"line", configuration.line},
          {"failure", failure}};
}

json study_document(std::vector<json> configurations, const std::string& title, const StudySection& section,
                    const std::vector<std::string>& commands) {
  add_reading(configurations, section.reading);
  add_speed_ups(configurations, section.baseline);
  json lines = lines_json(configurations, section.knee);
  json published = published_json(configurations, section.published);
  const Headline headline = headline_of(contenders_of(configurations));
  return {{"kind", "study"},
          {"schema_version", study_schema_version},
          {"title", title},
          {"question", question_of(configurations)},
          {"headline", headline.text},
          {"warnings", all_warnings(configurations, headline.warnings)},
          {"about", section.about},
          {"notes", section.notes},
          {"knee_share", section.knee},
          {"configurations", std::move(configurations)},
          {"lines", std::move(lines)},
          {"published", std::move(published)},
          {"commands", commands}};
}

Table configurations_table(const json& document) {
  return without_empty_columns(
      table_of(those_that_worked(document),
               {{"Configuration", [](const json& own) { return Cell(own.at("name").get<std::string>()); }},
                {"Time to target", target_cell},
                {"Speed-up in time to target", times_at("target_speed_up")},
                {"Throughput", value_at("throughput", Unit::samples_per_second)},
                {"Speed-up", times_at("speed_up")},
                {"Local steps per exchange", exchange_at(&Exchanges::steps)},
                {"Exchanges", exchange_at(&Exchanges::count)},
                {"Mean staleness", exchange_at(&Exchanges::staleness)},
                {"Best accuracy",
                 [](const json& own) { return Cell(three_digits(number_or_nan(own.at("best_accuracy")))); }},
                {"Workers", value_at("workers", Unit::count)},
                {"Step time", value_at("step_time_s", Unit::seconds)},
                {"Computing", value_in("shares", "computing", percent)},
                {"Exchange", value_in("shares", "exchange", percent)},
                {"communicating", value_in("exchange_shares", "communicating", percent)},
                {"waiting", value_in("exchange_shares", "waiting", percent)},
                {"Other", other_share},
                {"Bytes sent per sample", value_in("bytes_per_sample", "sent", bytes)},
                {"Bytes received per sample", value_in("bytes_per_sample", "received", bytes)},
                {"Time to target, curves as published", value_at("read_time_to_target_s", Unit::seconds)},
                {"Speed-up, curves as published", times_at("read_target_speed_up")}}));
}

std::string study_table(const json& document) {
  Page page;
  add_opening(document, page);
  // A terminal is too narrow for all columns.
  page.add(Note{""},
           narrowed(configurations_table(document),
                    {"Configuration", "Workers", "Throughput", "Speed-up", "Local steps per exchange",
                     "Exchanges", "Mean staleness", "Step time", "Computing", "Exchange", "Time to target"}));
  if (Table knees = knees_table(document); !knees.rows.empty()) page.add(Note{""}, std::move(knees));
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
}

}  // namespace tandem::validation
