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
#include "validation/report/view.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem::validation {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The mean of a distribution of summary.json, or null.
json mean_of(const json& distribution) {
  return distribution.is_object() ? distribution.value("mean", json()) : json();
}

/// The report of the nearest folder above the result and not above `folder`.
std::string report_above(const fs::path& result, const fs::path& folder) {
  for (fs::path at = result; at.string().size() >= folder.string().size(); at = at.parent_path()) {
    if (fs::exists(at / "report.html")) return fs::relative(at / "report.html", folder).string();
    if (at == folder) break;
  }
  return "";
}

json row_of(const fs::path& result, const fs::path& folder) {
  const std::string what = "a file of a result directory";
  const json summary = read_json_file((result / "summary.json").string(), what);
  const json run = read_json_file((result / "run.json").string(), what);
  const json& experiment = run.at("experiment");
  const std::string path = fs::relative(result, folder).string();
  const std::string algorithm = experiment.at("sync").at("algorithm");
  const json known = study_configuration({path, "", algorithm, {}}, summary, run, nullptr);
  json row = {{"path", path},
              {"world", run.at("world")},
              {"started", run.at("started")},
              {"name", experiment.at("name")},
              {"algorithm", algorithm},
              {"model", experiment.at("workload").at("model")},
              {"dataset", experiment.at("workload").at("dataset")},
              {"local_steps", mean_of(summary.at("local_steps"))},
              {"staleness", mean_of(summary.at("staleness"))},
              {"bytes_sent_per_sample", known.at("bytes_per_sample").at("sent")},
              {"report", report_above(result, folder)}};
  for (const char* key : {"workers", "step_time_s", "throughput", "makespan_s", "time_to_target_s",
                          "best_accuracy", "rounds", "samples", "shares"})
    row[key] = known.at(key);
  row["members"] =
      fs::exists(result / "membership.csv") ? members_of_result(read_results(result.string())) : json();
  row["data"] = data_of_result(summary);
  row["data_epochs"] = data_epochs(summary);
  row["generations"] = run.value("generations", json());
  const json membership = summary.value("membership", json::object());
  for (const char* key : {"departures", "lost_samples"}) row[key] = membership.value(key, json());
  return row;
}

/// Of the results whose machines may depart; the script of the page draws those that are marked.
void add_membership(const json& document, Page& page) {
  bool is_first = true;
  for (const auto& row : document.at("results")) {
    const json members = row.value("members", json());
    if (!members.is_object()) continue;
    if (is_first) page.add(Heading{2, "Membership"});
    is_first = false;
    Details details{
        fmt::format("{}: {}", row.at("path").get<std::string>(), members.at("summary").get<std::string>()),
        {{events_table(members)}}};
    if (const int left = members.at("events_left_out"); left > 0)
      details.content.push_back({Note{fmt::format("{} more events are in membership.csv.", left)}});
    page.add(std::move(details));
  }
}

/// Of the results of jobs that started again.
void add_launches_of_results(const json& document, Page& page) {
  bool is_first = true;
  for (const auto& row : document.at("results")) {
    Table launches = launches_table(row.value("generations", json()));
    if (launches.rows.empty()) continue;
    if (is_first) page.add(Heading{2, "Launches of jobs that started again"});
    is_first = false;
    page.add(Details{fmt::format("{}: {} launches", row.at("path").get<std::string>(), launches.rows.size()),
                     {{std::move(launches)}}});
  }
}

/// Of the results of jobs with cache nodes; the script of the page draws those that are marked.
void add_data_of_results(const json& document, Page& page) {
  bool is_first = true;
  for (const auto& row : document.at("results")) {
    const json data = row.value("data", json());
    if (!data.is_object()) continue;
    if (is_first) page.add(Heading{2, "Samples from caches and stores"});
    is_first = false;
    page.add(Details{row.at("path").get<std::string>(), {{classes_of_result(data)}}});
  }
}

Page page_of(const json& document) {
  Page page{.title = document.at("folder"), .kind = "Tandem results"};
  page.add(Note{fmt::format("{} results. Click on a heading to sort; mark two results to compare them.",
                            document.at("results").size())});
  page.add(Explorer{});
  add_data_of_results(document, page);
  add_membership(document, page);
  add_launches_of_results(document, page);
  if (document.at("skipped").empty()) return page;
  Bullets skipped;
  for (const auto& text : document.at("skipped")) skipped.texts.push_back(text);
  page.add(Heading{2, "Skipped"}, std::move(skipped));
  return page;
}

}  // namespace

json results_document(const std::string& folder) {
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
  json results = json::array(), skipped = json::array();
  for (const auto& directory : found) {
    const std::string name = fs::relative(directory, root).string();
    if (fs::exists(directory / "INCOMPLETE")) {
      skipped.push_back(name + ": the job has not ended");
      continue;
    }
    try {
      results.push_back(row_of(directory, root));
    } catch (const ConfigError& error) {
      skipped.push_back(name + ": " + error.what());
    } catch (const json::exception& error) {
      skipped.push_back(fmt::format("{}: not a result of this version of Tandem ({})", name, error.what()));
    }
  }
  if (results.empty())
    throw ConfigError(
        fmt::format("{}: expected result directories (of tandem simulate, run, validate or study), found "
                    "{}",
                    folder, skipped.empty() ? "none" : skipped.front().get<std::string>()));
  return {{"folder", root.string()}, {"results", std::move(results)}, {"skipped", std::move(skipped)}};
}

std::string results_table(const json& document) {
  const auto value = [](const char* key, Unit unit) {
    return [key, unit](const json& row) { return Cell(with_unit(number_or_nan(row.at(key)), unit)); };
  };
  const auto text = [](const char* key) {
    return [key](const json& row) { return Cell(row.at(key).get<std::string>()); };
  };
  const auto accuracy = [](const json& row) { return Cell(percent(number_or_nan(row.at("best_accuracy")))); };
  return to_text(Page{
      .title = "",
      .kind = "",
      .blocks = {{without_empty_columns(table_of(
          pointers_to(document.at("results")), {{"Result", text("path")},
                                                {"World", text("world"), true},
                                                {"Throughput", value("throughput", Unit::samples_per_second)},
                                                {"Step time", value("step_time_s", Unit::seconds)},
                                                {"Makespan", value("makespan_s", Unit::seconds)},
                                                {"Time to target", value("time_to_target_s", Unit::seconds)},
                                                {"Best accuracy", accuracy}}))}}});
}

std::string results_html(const json& document) {
  return to_html(page_of(document), document, {pieces::data, pieces::members, pieces::results});
}

}  // namespace tandem::validation
