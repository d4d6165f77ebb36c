// The parts of a study's report: tables, charts and text.
#include <fmt/format.h>

#include <algorithm>
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
#include "validation/report/study_fields.hpp"
#include "validation/report/view.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

using CellOf = std::function<Cell(const StudyResult&)>;
using CellOfSeeds = std::function<Cell(const SeedMeans&)>;

CellOf value_at(double StudyResult::*member, Unit unit) {
  return [=](const StudyResult& own) { return Cell(with_unit(own.*member, unit)); };
}
CellOf value_at(std::optional<double> StudyResult::*member, Unit unit) {
  return [=](const StudyResult& own) { return Cell(with_unit(value_or_nan(own.*member), unit)); };
}
/// A value of a part that may be missing.
template <class Part>
CellOf value_in(std::optional<Part> StudyResult::*part, double Part::*member, std::string (*text)(double)) {
  return [=](const StudyResult& own) { return own.*part ? Cell(text((*(own.*part)).*member)) : Cell("-"); };
}
/// "-" where no worker sends anything.
CellOf bytes_at(double BytesPerSample::*member) {
  return [=](const StudyResult& own) {
    const double bytes = own.bytes_per_sample.*member;
    return bytes > 0 ? Cell(with_unit(bytes, Unit::bytes)) : Cell("-");
  };
}
std::string times(double ratio) { return std::isfinite(ratio) ? three_digits(ratio) + "x" : "-"; }
CellOf times_at(std::optional<double> StudyResult::*member) {
  return [member](const StudyResult& own) { return Cell(times(value_or_nan(own.*member))); };
}

/// "-" where each update is applied to the model on which it was computed.
Cell staleness_cell(const StudyResult& own) {
  const double staleness = own.exchanges().staleness;
  return staleness > 0 ? Cell(with_unit(staleness, Unit::count)) : Cell("-");
}

CellOf exchange_at(double Exchanges::*value) {
  return [value](const StudyResult& own) { return Cell(with_unit(own.exchanges().*value, Unit::count)); };
}

Cell hits_cell(const StudyResult& own) {
  return own.cache_hit_ratio ? Cell(percent(*own.cache_hit_ratio)) : "-";
}

Cell data_share(const StudyResult& own) {
  return own.shares && own.cache_hit_ratio ? Cell(percent(own.shares->data)) : "-";
}

/// Of the steps: what no stall counts.
Cell others_waits(const StudyResult& own) {
  const double waits = own.binding ? own.binding->later_samples : 0.0;
  return waits > 0.0005 ? Cell(percent(waits)) : "-";
}

Cell commits_share(const StudyResult& own) {
  return own.shares && own.shares->commits > 0 ? Cell(percent(own.shares->commits)) : "-";
}

/// What no other column shows.
Cell other_share(const StudyResult& own) {
  if (!own.shares) return "-";
  double sum = own.shares->query + own.shares->other;
  if (!own.cache_hit_ratio) sum += own.shares->data;
  return percent(sum);
}

/// A value of the warm epochs; "-" without cache nodes.
CellOf warm_at(std::optional<double> (*value)(const DataPart&), std::string (*text)(double)) {
  return [=](const StudyResult& own) {
    return own.data && own.data->warm ? Cell(text(value_or_nan(value(*own.data->warm)))) : Cell("-");
  };
}
std::string time_text(double value) { return with_unit(value, Unit::seconds); }

/// The busiest server's share of `what` (bytes or messages) under the configuration's sharding.
CellOf busiest_share(const std::string& what) {
  return [place = json::json_pointer("/busiest/" + what + "/share")](const StudyResult& own) {
    const json& sharding = own.environment.sharding;
    return Cell(sharding.contains(place) ? percent(sharding.at(place)) : "-");
  };
}

/// "-" where the grid has the number.
Cell workers_cell(const StudyResult& own) {
  return coordinate(own, "placement.worker_count").empty()
             ? Cell(with_unit(static_cast<double>(own.workers), Unit::count))
             : Cell("-");
}

/// "-" where no machine may depart.
CellOf member_count(std::optional<std::int64_t> (*count)(const MembershipSummary&)) {
  return [count](const StudyResult& own) {
    if (!own.membership) return Cell("-");
    const auto known = count(*own.membership);
    return Cell(with_unit(known ? static_cast<double>(*known) : std::nan(""), Unit::count));
  };
}

/// "-" where no machine has a price.
Cell cost_cell(const StudyResult& own) {
  return own.cost ? Cell(with_unit(own.cost->total.dollars(), Unit::dollars)) : Cell("-");
}

Cell target_cell(const StudyResult& own) {
  if (!own.time_to_target || own.time_to_target->evaluations == 0) return "-";
  if (!own.time_to_target->reached) return "not reached";
  return with_unit(value_or_nan(own.time_to_target_s), Unit::seconds);
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

Table published_table(const Study& study) {
  using Published = StudyPublished;
  const auto text = [](const Published& row, double value) { return figure_name(row.figure).text(value); };
  const auto what = [](const Published& row) {
    return Cell(row.what.empty() ? figure_name(row.figure).name : row.what);
  };
  return table_of(
      pointers_to(study.published),
      {{"Configuration", [](const Published& row) { return Cell(row.configuration); }},
       {"Published", [=](const Published& row) { return Cell(text(row, row.value)); }},
       {"published figure", what, true},
       {"Simulated", [=](const Published& row) { return Cell(text(row, value_or_nan(row.ours))); }},
       {"simulated figure", [](const Published& row) { return Cell(figure_name(row.figure).name); }, true},
       {"Simulated / published",
        [](const Published& row) { return Cell(three_digits(value_or_nan(row.ratio))); }},
       {"Source", [](const Published& row) { return Cell(row.source); }, true}});
}

// ---- Pages ----

const char* const shares_definition =
    "Shares are of the time of the job, means over workers. Exchange: the part that does not overlap "
    "computing, "
    "split into communicating and waiting if every message was recorded. Data: waiting for samples from "
    "storage and caches, and decoding them. Commits: waiting until a commit is stored, after a step or in an "
    "exchange. Stall: the part of its step time that a worker waited for its own samples. Others' waits for "
    "samples: "
    "the part of all steps that the others waited in exchanges for such a worker. Other: decoding samples "
    "that workers hold in memory, queries to a "
    "coordinator, and the time before the first and after the last step. Bottlenecks count waiting in an "
    "exchange as what the last worker of the round "
    "did, and name decoding apart from waiting for samples. Bytes: payload sent or received by all workers, "
    "per sample that they processed.";

void add_failed(const Study& study, Page& page) {
  for (const StudyResult& own : study.configurations)
    if (own.failed()) page.add(Heading{3, own.name + ": failed"}, Code{own.failure, true});
}

/// The height of a bar chart with that many rows.
std::size_t height_of(std::size_t rows) { return 60 + 22 * std::max<std::size_t>(rows, 2); }

void add_published(const Study& study, Page& page) {
  Table table = published_table(study);
  if (table.rows.empty()) return;
  page.add(Heading{2, "Comparison with published figures"});
  const auto gains = std::ranges::count_if(study.published, [](const StudyPublished& row) {
    return row.figure.ends_with("speed_up") && row.ours;
  });
  if (gains > 0)
    page.add(Charts{{{"published", "Speed-ups", height_of(2 * static_cast<std::size_t>(gains))}}});
  page.add(std::move(table));
}

/// The stall that was found with a capacity; NaN: it was not tried, or the job is not possible with it.
double stall_with(const StudyCapacity& least, std::int64_t capacity) {
  for (const auto& [tried, stall] : least.tried)
    if (tried == capacity && stall) return *stall;
  return std::numeric_limits<double>::quiet_NaN();
}

/// One row per configuration with cache nodes, whether of one job or of several, of studies with a limit for
/// their stall.
Table capacities_table(const Study& study) {
  struct Having {
    std::string name;
    StudyCapacity least;
  };
  std::vector<Having> having;
  const auto add = [&](const auto& own) {
    if (own.least_capacity && *own.least_capacity) having.push_back({own.name, **own.least_capacity});
  };
  for (const StudyResult* own : study.worked()) add(*own);
  // Several jobs have one capacity, which all of them need.
  for (const StudyJobs& all : study.several_jobs) add(all);
  const auto of = [](auto cell) { return [cell](const Having& own) { return Cell(cell(own.least)); }; };
  const auto of_found = [&](auto cell) {
    return of([cell](const StudyCapacity& least) {
      return least.capacity_bytes ? cell(least, *least.capacity_bytes) : std::string("-");
    });
  };
  return table_of(
      pointers_to(having),
      {{"Configuration", [](const Having& own) { return Cell(own.name); }},
       {"Stall at most", of([](const StudyCapacity& least) { return percent(least.stall); })},
       {"Least cache capacity", of([](const StudyCapacity& least) {
          return least.capacity_bytes ? with_unit(static_cast<double>(*least.capacity_bytes), Unit::bytes)
                                      : std::string("none suffices");
        })},
       {"of the data set", of_found([](const StudyCapacity& least, std::int64_t capacity) {
          return percent(static_cast<double>(capacity) / static_cast<double>(least.data_set_bytes));
        })},
       {"Stall with it", of_found([](const StudyCapacity& least, std::int64_t capacity) {
          return percent(stall_with(least, capacity));
        })},
       {"without a cache", of([](const StudyCapacity& least) { return percent(stall_with(least, 0)); })},
       {"with all samples in it",
        of([](const StudyCapacity& least) { return percent(stall_with(least, least.data_set_bytes)); })}});
}

void add_capacities(const Study& study, Page& page) {
  Table table = capacities_table(study);
  if (table.rows.empty()) return;
  page.add(Heading{2, "Least cache capacity"},
           Note{"The least data.cache_capacity with which the workers of each job wait for samples no longer "
                "than the given share of their steps in warm epochs, in steps of 0.5 % of the data set or of "
                "its largest "
                "sample, whichever is more. The search assumes that a larger cache never makes workers wait "
                "longer, and that mathematics is modelled."},
           std::move(table));
}

void add_accuracy(const Study& study, const Answer& answer, Page& page) {
  if (std::ranges::all_of(study.worked(), [](const StudyResult* own) { return own->curve.empty(); })) return;
  Charts over_time = charts_of_places(answer, "accuracy", 320);
  if (over_time.charts.empty()) return;
  page.add(Heading{2, "Test accuracy over simulated time"});
  if (over_time.charts.size() > 1) return page.add(std::move(over_time));
  over_time.charts.front().title = "Over time";
  over_time.charts.push_back({"accuracy-samples-0", "Over samples", 320});
  page.add(std::move(over_time));
}

std::string plus_minus(const std::optional<SeedMean>& figure, const char* format) {
  return figure ? fmt::format(fmt::runtime(format), figure->mean, figure->deviation) : "-";
}
CellOfSeeds significant_mean(std::optional<SeedMean> SeedMeans::*member) {
  return [=](const SeedMeans& own) {
    const auto& figure = own.*member;
    return figure ? Cell(with_deviation(significant(figure->mean, 5), significant(figure->deviation, 2)))
                  : Cell("-");
  };
}

/// No rows: no configurations differ in their seed alone.
Table seeds_table(const std::vector<SeedMeans>& seeds) {
  const auto mean = [](std::optional<SeedMean> SeedMeans::*member, const char* format) {
    return [=](const SeedMeans& own) { return Cell(plus_minus(own.*member, format)); };
  };
  return without_empty_columns(table_of(
      pointers_to(seeds),
      {{"Over all seeds", [](const SeedMeans& own) { return Cell(own.name); }},
       {"Seeds",
        [](const SeedMeans& own) {
          return Cell(with_unit(static_cast<double>(own.configurations.size()), Unit::count));
        }},
       {"Samples trained on", [](const SeedMeans& own) { return Cell(with_unit(own.samples, Unit::count)); }},
       {"Last accuracy", mean(&SeedMeans::last_accuracy, "{:.4f} ± {:.4f}")},
       {"Difference from the baseline", mean(&SeedMeans::accuracy_gain, "{:+.4f} ± {:.4f}")},
       {"Best accuracy", mean(&SeedMeans::best_accuracy, "{:.4f} ± {:.4f}")},
       {"Time of the job in s", significant_mean(&SeedMeans::makespan_s)},
       {"Samples per second", significant_mean(&SeedMeans::throughput)}}));
}

const char* const seeds_definition =
    "Means over the seeds, with the standard deviation after the sign. The last accuracy is that of the last "
    "evaluation, which may be some steps before the end. A difference is the mean over the seeds in common, "
    "with its standard error after the sign: one that is smaller than twice that error may be chance.";

/// Without accuracy the comparison has all means.
void add_seeds(const Study& study, Page& page, int level) {
  const auto has_accuracy = [](const SeedMeans& own) { return own.last_accuracy.has_value(); };
  if (std::ranges::none_of(study.seeds, has_accuracy)) return;
  Table table = seeds_table(study.seeds);
  page.add(Heading{level, "Means over seeds"}, Note{seeds_definition}, std::move(table));
}

void add_study_commands(const Study& study, Page& page) {
  std::string commands;
  for (const std::string& command : study.commands) commands += (commands.empty() ? "" : "\n") + command;
  page.add(Heading{2, "Reproduce"}, Code{commands});
  std::set<std::string> shown;
  Details settings{"Settings of the simulations", {}};
  for (const StudyResult* own : study.worked()) {
    const json &physics = own->environment.physics, versions = own->environment.versions;
    const std::string platform = std::filesystem::path(own->experiment.platform).filename().string();
    if (!shown.insert(platform + physics.dump() + versions.dump()).second) continue;
    Table table{.columns = {{"Simulated with"}, {platform, true}}, .size = Table::Size::narrow};
    for (const json* values : {&physics, &versions})
      for (const auto& [name, text] : flattened(*values)) table.rows.push_back({{name, text}});
    settings.content.push_back({std::move(table)});
  }
  if (!settings.content.empty()) page.add(std::move(settings));
}

void add_classes(const Study& study, Page& page) {
  std::vector<DataOfStudy> having;
  const auto keys = grid_keys(study);
  for (const StudyResult* own : study.worked()) {
    std::string name = own->algorithm;
    for (const auto& key : keys) name += fmt::format(", {} {}", axis_name(key), coordinate(*own, key));
    if (own->data) having.push_back({keys.empty() ? own->name : name, *own->data});
  }
  Table table = classes_of_study(having);
  if (table.rows.empty()) return;
  const bool is_long = table.rows.size() > 24;
  if (is_long) table.size = Table::Size::scrolling;
  page.add(
      Heading{2, "Where samples came from"},
      Note{"Shares of the samples that workers were given: from the tiers of their own cache node, other "
           "cache nodes (peer), the store, or other samples in place of the wanted ones (substituted). "
           "peer-miss is a part of store; background and wasted are reads ahead of requests."});
  if (is_long)
    page.add(Details{"Every configuration: where samples came from", {{std::move(table)}}});
  else
    page.add(std::move(table));
}

/// The first columns of a table of configurations: the values of the grid, or the name where nothing varies.
std::vector<ColumnOf<StudyResult>> name_columns(const Study& study) {
  std::vector<ColumnOf<StudyResult>> columns;
  const auto keys = grid_keys(study);
  if (keys.empty()) return {{"Configuration", [](const StudyResult& own) { return Cell(own.name); }}};
  columns.push_back({"Variant", [](const StudyResult& own) { return Cell(own.algorithm); }, true});
  for (const auto& key : keys)
    columns.push_back({axis_name(key),
                       [key](const StudyResult& own) {
                         const std::string value = coordinate(own, key);
                         return Cell(value.empty() ? "-" : value);
                       },
                       true});
  return columns;
}

Cell throughput_interval(const StudyResult& own) {
  const auto& interval = own.intervals.throughput;
  if (!interval) return Cell("-");
  const auto text = [](double end) { return with_unit(end, Unit::samples_per_second); };
  return Cell(text(interval->low) + " to " + text(interval->high));
}

Table table_of_configurations(const Study& study, const std::vector<ColumnOf<StudyResult>>& figures) {
  auto columns = name_columns(study);
  columns.insert(columns.end(), figures.begin(), figures.end());
  return without_empty_columns(table_of(study.worked(), columns));
}

/// Where the time of the workers went.
Table times_table(const Study& study) {
  const auto share = [](double TimeShares::*member) {
    return value_in(&StudyResult::shares, member, percent);
  };
  const auto part = [](double ExchangeShares::*member) {
    return value_in(&StudyResult::exchange_shares, member, percent);
  };
  return table_of_configurations(study, {{"Computing", share(&TimeShares::computing)},
                                         {"Data", data_share},
                                         {"Exchange", share(&TimeShares::exchange)},
                                         {"communicating", part(&ExchangeShares::communicating)},
                                         {"waiting", part(&ExchangeShares::waiting)},
                                         {"Commits", commits_share},
                                         {"Other", other_share},
                                         {"Bytes sent per sample", bytes_at(&BytesPerSample::sent)},
                                         {"Bytes received per sample", bytes_at(&BytesPerSample::received)}});
}

/// Whether variants at some place of the grid send and receive differently many bytes per sample.
bool differ_in_traffic(const Study& study, const Answer& answer) {
  std::map<std::string, double> bytes;
  for (const StudyResult* own : study.worked())
    bytes[own->name] = own->bytes_per_sample.sent + own->bytes_per_sample.received;
  for (const auto& panel : answer.panels)
    for (std::size_t at = 0; at < panel.columns.size(); ++at) {
      double least = std::numeric_limits<double>::infinity(), most = 0;
      for (const auto& row : panel.rows) {
        if (!row.cells[at]) continue;
        const double own = bytes.at(row.cells[at]->configurations.front());
        least = std::min(least, own);
        most = std::max(most, own);
      }
      if (most > 1.05 * least) return true;  // newcomers fetch the model, too
    }
  return false;
}

void add_traffic(const Study& study, const Answer& answer, Page& page) {
  if (!differ_in_traffic(study, answer)) return;
  page.add(
      Heading{2, "Traffic"},
      Note{
          "Gradients and models that all workers sent and received, per sample that they processed. Samples "
          "from stores and caches are not counted. Tables of the next section have sent and received apart."},
      charts_of_panels(answer, "traffic", "bytes per sample"));
}

void add_configurations(const Study& study, const Answer& answer, Page& page) {
  page.add(Heading{2, "Where workers' time went"}, Note{shares_definition});
  if (Charts charts = charts_of_places(answer, "shares", 0); !charts.charts.empty())
    page.add(std::move(charts));
  // A grid has too many rows for a reader; study.csv has the same figures.
  Table figures = configurations_table(study), times = times_table(study);
  const bool is_grid = answer.across || answer.panels.size() > 1 || figures.rows.size() > 12;
  if (!is_grid) return page.add(std::move(times), Heading{2, "Figures of each variant"}, std::move(figures));
  figures.size = times.size = Table::Size::scrolling;
  page.add(Details{"Every configuration: figures", {{std::move(figures)}}},
           Details{"Every configuration: where time went", {{std::move(times)}}});
}

void add_warnings(const Study& study, const Answer& answer, Page& page) {
  Bullets warnings;
  for (const std::string& warning : study.warnings) warnings.texts.push_back("Warning: " + warning);
  if (!warnings.texts.empty()) page.add(std::move(warnings));
  if (!study.question.empty() && study.question != answer.question) page.add(Note{"Job: " + study.question});
}

Page page_of_study(const Study& study) {
  Page page{study.title + ": a study", "Tandem study (simulated)"};
  const Answer answer = answer_of(study);
  add_answer(answer, page);
  add_warnings(study, answer, page);
  add_failed(study, page);
  const auto worked = study.worked();
  if (!worked.empty()) {
    add_comparison(answer, page);
    add_published(study, page);
    add_seeds(study, page, 2);
    add_jobs_of_study(study, page);
    add_capacities(study, page);
    add_accuracy(study, answer, page);
  }
  if (!study.notes.empty()) page.add(Heading{2, "Notes"}, Bullets{study.notes});
  if (worked.empty()) return page;
  add_traffic(study, answer, page);
  add_configurations(study, answer, page);
  add_classes(study, page);
  add_platforms(study.platforms, page);
  add_study_commands(study, page);
  return page;
}

/// The data of the charts.
json study_chart_data(const Study& study) {
  json drawn = json::object();
  for (const StudyResult* own : study.worked())
    drawn[own->name] = {{"curve", write_fields(own->curve)},
                        {"interval", write_fields(own->intervals.throughput)},
                        {"bytes_per_sample", own->bytes_per_sample.sent + own->bytes_per_sample.received},
                        {"target", own->experiment.target_accuracy},
                        {"is_sequential", own->experiment.sync.algorithm == "sequential"}};
  return {{"configurations", std::move(drawn)},
          {"answer", write_fields(answer_of(study))},
          {"published", write_fields(study.published)}};
}

}  // namespace

Table configurations_table(const Study& study) {
  const auto attained = [](const DataPart& warm) { return warm.bound ? warm.bound->attained : std::nullopt; };
  const auto of_belady = [](const DataPart& warm) { return warm.belady.attained; };
  const auto stall = [](const DataPart& warm) { return warm.stall; };
  const auto epoch_time = [](const DataPart& warm) { return warm.epoch_time_s; };
  return table_of_configurations(
      study,
      {{"Time to target", target_cell},
       {"Speed-up in time to target", times_at(&StudyResult::target_speed_up)},
       {"Throughput", value_at(&StudyResult::throughput, Unit::samples_per_second)},
       {"90 % of simulations", throughput_interval},
       {"Speed-up", times_at(&StudyResult::speed_up)},
       {"Local steps per exchange", exchange_at(&Exchanges::steps)},
       {"Exchanges", exchange_at(&Exchanges::count)},
       {"Mean staleness", staleness_cell},
       {"Best accuracy",
        [](const StudyResult& own) { return Cell(three_digits(value_or_nan(own.best_accuracy))); }},
       {"Best top-5 accuracy",
        [](const StudyResult& own) { return Cell(three_digits(value_or_nan(own.best_top5_accuracy))); }},
       {"Reads from the cache", hits_cell},
       {"Share of the bound", warm_at(attained, percent)},
       {"Share of Belady's", warm_at(of_belady, percent)},
       {"Stall", warm_at(stall, percent)},
       {"Others' waits for samples", others_waits},
       {"Time per warm epoch", warm_at(epoch_time, time_text)},
       {"Workers", workers_cell},
       {"Mean step time", value_at(&StudyResult::step_time_s, Unit::seconds)},
       {"Bytes at the busiest server", busiest_share("bytes")},
       {"Messages at the busiest server", busiest_share("messages")},
       {"Departures",
        member_count([](const MembershipSummary& members) { return std::optional(members.departures); })},
       {"Lost samples", member_count([](const MembershipSummary& members) { return members.lost_samples; })},
       {"Cost", cost_cell},
       {"Time to target, curves as published", value_at(&StudyResult::read_time_to_target_s, Unit::seconds)},
       {"Speed-up, curves as published", times_at(&StudyResult::read_target_speed_up)}});
}

std::string study_table(const Study& study) {
  Page page;
  const Answer answer = answer_of(study);
  add_answer(answer, page);
  add_warnings(study, answer, page);
  if (!answer.across) page.add(Note{""});
  add_comparison_tables(answer, page);
  // A terminal is too narrow for all columns, and too short for a grid.
  if (!answer.across && answer.panels.size() == 1 &&
      answer.panels.front().rows.size() == study.worked().size())
    page.add(Note{""},
             narrowed(configurations_table(study),
                      {"Configuration", "Variant", "Speed-up", "Local steps per exchange", "Exchanges",
                       "Mean staleness", "Best accuracy", "Reads from the cache", "Share of the bound",
                       "Share of Belady's", "Stall", "Others' waits for samples", "Time per warm epoch",
                       "Workers", "Mean step time", "Cost"}));
  add_seeds(study, page, 3);
  if (Table jobs = study_jobs_table(study); !jobs.rows.empty())
    page.add(Heading{3, "Several jobs on one platform"}, study_all_jobs_table(study), Note{""},
             std::move(jobs));
  if (Table least = capacities_table(study); !least.rows.empty()) page.add(Note{""}, std::move(least));
  if (Table published = published_table(study); !published.rows.empty())
    page.add(Note{""},
             narrowed(std::move(published), {"Configuration", "Published", "published figure", "Simulated",
                                             "simulated figure", "Simulated / published"}));
  add_failed(study, page);
  return to_text(page);
}

std::string study_markdown(const Study& study) { return to_markdown(page_of_study(study)); }

std::string study_html(const Study& study) {
  return to_html(page_of_study(study), study_chart_data(study), {pieces::study});
}

void write_study(const std::string& directory, const Study& study) {
  write_report_files(directory, to_json(study), study_markdown(study), study_html(study));
  write_whole_file((std::filesystem::path(directory) / "study.csv").string(),
                   study_csv(study, answer_of(study)));
}

}  // namespace tandem::validation
