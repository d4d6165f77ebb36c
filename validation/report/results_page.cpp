#include "validation/report/results_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "policies/vocabulary/check.hpp"
#include "validation/page/pieces.hpp"
#include "validation/report/data_section.hpp"
#include "validation/report/launches.hpp"
#include "validation/report/members.hpp"
#include "validation/report/page.hpp"
#include "validation/report/study.hpp"
#include "validation/report/study_fields.hpp"
#include "validation/report/view.hpp"
#include "workloads/experiment/fields.hpp"
#include "workloads/experiment/json_fields.hpp"

namespace tandem {

template <>
struct Fields<validation::MemberEvent> {
  static void visit(auto& v, auto&& field) {
    fields(field, "time_s", v.time_s, "slot", v.slot, "machine", v.machine, "host", v.host, "region",
           v.region, "zone", v.zone, "event", v.event, "cause", v.cause, "view", v.view);
  }
};

template <>
struct Fields<validation::MembersOfResult> {
  static void visit(auto& v, auto&& field) {
    Fields<validation::MembersOfRun>::visit(v, field);
    fields(field, "events", v.events, "events_left_out", v.events_left_out, "summary", v.summary);
  }
};

template <>
struct Fields<validation::ResultRow> {
  static void visit(auto& v, auto&& field) {
    fields(field, "path", v.path, "world", v.world, "started", v.started, "name", v.name, "algorithm",
           v.figures.algorithm, "model", v.model, "dataset", v.dataset, "local_steps", v.local_steps,
           "staleness", v.staleness, "bytes_sent_per_sample", v.figures.bytes_per_sample.sent, "report",
           v.report, "workers", v.figures.workers, "step_time_s", v.figures.step_time_s, "throughput",
           v.figures.throughput, "makespan_s", v.figures.makespan_s, "time_to_target_s",
           v.figures.time_to_target_s, "best_accuracy", v.figures.best_accuracy, "rounds", v.figures.rounds,
           "samples", v.figures.samples, "shares", v.figures.shares, "members", v.members, "data",
           v.figures.data, "data_epochs", v.data_epochs);
    field("generations", v.generations, Key::nullable);
    field("best_top5_accuracy", v.figures.best_top5_accuracy, Key::optional);
    fields(field, "departures", v.departures, "lost_samples", v.lost_samples);
  }
};

template <>
struct Fields<validation::ResultsList> {
  static void visit(auto& v, auto&& field) {
    fields(field, "folder", v.folder, "results", v.results, "skipped", v.skipped);
  }
};

namespace validation {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The report of the nearest folder above the result and not above `folder`.
std::string report_above(const fs::path& result, const fs::path& folder) {
  for (fs::path at = result; at.string().size() >= folder.string().size(); at = at.parent_path()) {
    if (fs::exists(at / "report.html")) return fs::relative(at / "report.html", folder).string();
    if (at == folder) break;
  }
  return "";
}

std::optional<double> mean_of(const std::optional<DistributionSummary>& distribution) {
  return distribution ? std::optional(distribution->mean) : std::nullopt;
}

ResultRow row_of(const fs::path& result, const fs::path& folder) {
  const RunInfo run = read_run_info(result.string());
  const Summary summary = read_summary(result.string());
  const Experiment& experiment = run.experiment;
  ResultRow row{.path = fs::relative(result, folder).string(),
                .world = run.world,
                .started = run.started,
                .name = experiment.name,
                .model = experiment.workload.model,
                .dataset = experiment.workload.dataset,
                .report = report_above(result, folder),
                .local_steps = mean_of(summary.local_steps),
                .staleness = mean_of(summary.staleness),
                .generations = run.generations};
  row.figures =
      study_result({.name = row.path, .algorithm = experiment.sync.algorithm}, summary, run, std::nullopt);
  if (fs::exists(result / "membership.csv")) row.members = members_of_result(read_results(result.string()));
  if (summary.data) row.data_epochs = data_epochs(*summary.data);
  if (summary.membership) {
    row.departures = summary.membership->departures;
    row.lost_samples = summary.membership->lost_samples;
  }
  return row;
}

/// The members of results whose machines may depart; the script of the page draws those that are marked.
void add_membership(const ResultsList& list, Page& page) {
  bool is_first = true;
  for (const ResultRow& row : list.results) {
    if (!row.members) continue;
    if (is_first) page.add(Heading{2, "Membership"});
    is_first = false;
    Details details{fmt::format("{}: {}", row.path, row.members->summary), {{events_table(*row.members)}}};
    if (const auto left = row.members->events_left_out; left > 0)
      details.content.push_back({Note{fmt::format("{} more events are in membership.csv.", left)}});
    page.add(std::move(details));
  }
}

/// The launches of jobs that started again.
void add_launches_of_results(const ResultsList& list, Page& page) {
  bool is_first = true;
  for (const ResultRow& row : list.results) {
    Table launches = launches_table(row.generations);
    if (launches.rows.empty()) continue;
    if (is_first) page.add(Heading{2, "Launches of jobs that started again"});
    is_first = false;
    page.add(
        Details{fmt::format("{}: {} launches", row.path, launches.rows.size()), {{std::move(launches)}}});
  }
}

/// The data of jobs with cache nodes; the script of the page draws those that are marked.
void add_data_of_results(const ResultsList& list, Page& page) {
  bool is_first = true;
  for (const ResultRow& row : list.results) {
    if (!row.figures.data) continue;
    if (is_first) page.add(Heading{2, "Samples from caches and stores"});
    is_first = false;
    page.add(Details{row.path, {{classes_of_result(*row.figures.data)}}});
  }
}

Page page_of(const ResultsList& list) {
  Page page{.title = list.folder, .kind = "Tandem results"};
  page.add(Note{fmt::format("{} results. Click on a heading to sort; mark two results to compare them.",
                            list.results.size())});
  page.add(Explorer{});
  add_data_of_results(list, page);
  add_membership(list, page);
  add_launches_of_results(list, page);
  if (!list.skipped.empty()) page.add(Heading{2, "Skipped"}, Bullets{list.skipped});
  return page;
}

}  // namespace

ResultsList list_results(const std::string& folder) {
  const fs::path root = fs::absolute(folder).lexically_normal();
  if (!fs::is_directory(root))
    throw ConfigError(folder + ": expected a folder with result directories, found " +
                      (fs::exists(root) ? "a file" : "nothing"));
  std::vector<fs::path> found;
  if (fs::exists(root / "summary.json")) found.push_back(root);
  for (const auto& entry :
       fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied))
    if (entry.path().filename() == "summary.json" && entry.path().parent_path() != root)
      found.push_back(entry.path().parent_path());
  std::sort(found.begin(), found.end());
  ResultsList list{.folder = root.string()};
  for (const auto& directory : found) {
    const std::string name = fs::relative(directory, root).string();
    if (fs::exists(directory / "INCOMPLETE")) {
      list.skipped.push_back(name + ": the job has not ended");
      continue;
    }
    try {
      list.results.push_back(row_of(directory, root));
    } catch (const ConfigError& error) {
      list.skipped.push_back(name + ": " + error.what());
    }
  }
  if (list.results.empty())
    throw ConfigError(
        fmt::format("{}: expected result directories (of tandem simulate, run, validate or study), found "
                    "{}",
                    folder, list.skipped.empty() ? "none" : list.skipped.front()));
  return list;
}

json to_json(const ResultsList& list) { return write_fields(list); }

std::string results_table(const ResultsList& list) {
  const auto value = [](auto member, Unit unit) {
    return [=](const ResultRow& row) {
      const std::optional<double> known = row.figures.*member;
      return Cell(with_unit(value_or_nan(known), unit));
    };
  };
  return to_text(
      Page{.title = "",
           .kind = "",
           .blocks = {{without_empty_columns(table_of(
               pointers_to(list.results),
               {{"Result", [](const ResultRow& row) { return Cell(row.path); }},
                {"World", [](const ResultRow& row) { return Cell(row.world); }, true},
                {"Throughput", value(&StudyResult::throughput, Unit::samples_per_second)},
                {"Step time", value(&StudyResult::step_time_s, Unit::seconds)},
                {"Makespan", value(&StudyResult::makespan_s, Unit::seconds)},
                {"Time to target", value(&StudyResult::time_to_target_s, Unit::seconds)},
                {"Best accuracy",
                 [](const ResultRow& row) { return Cell(percent(value_or_nan(row.figures.best_accuracy))); }},
                {"Best top-5 accuracy", [](const ResultRow& row) {
                   return Cell(percent(value_or_nan(row.figures.best_top5_accuracy)));
                 }}}))}}});
}

std::string results_html(const ResultsList& list) {
  return to_html(page_of(list), to_json(list), {pieces::data, pieces::members, pieces::results});
}

}  // namespace validation
}  // namespace tandem
