#include "validation/report/study_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "validation/report/format.hpp"
#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

std::string with_unit_or_dash(const json& value, Unit unit) { return with_unit(number_or_nan(value), unit); }
std::string times(const json& ratio) {
  const std::string text = three_digits(number_or_nan(ratio));
  return text == "-" ? text : text + "x";
}
std::string share_of(const json& shares, const char* key) {
  return shares.is_object() ? percent(number_or_nan(shares.at(key))) : "-";
}
std::string rest_of(const json& shares) {
  if (!shares.is_object()) return "-";
  double sum = 0;
  for (const char* key : {"data", "query", "other"}) sum += number_or_nan(shares.at(key));
  return percent(sum);
}
std::string mean_of_distribution(const json& distribution) {
  return distribution.is_object() ? three_digits(number_or_nan(distribution.at("mean"))) : "-";
}
std::string target_cell(const json& configuration) {
  const json& target = configuration.at("time_to_target");
  if (!target.is_object() || target.at("evaluations") == 0) return "-";
  if (!target.at("reached").get<bool>()) return "not reached";
  return with_unit_or_dash(configuration.at("time_to_target_s"), Unit::seconds);
}

/// Leaves out the columns that say nothing, but for the first one.
StudyTable without_empty_columns(StudyTable table) {
  for (std::size_t column = table.columns.size(); column-- > 1;) {
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(),
                                      [&](const auto& row) { return row[column] == "-"; });
    if (!is_empty) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

/// How a figure of study_figures reads.
struct FigureName {
  const char* name;
  std::string (*text)(const json&);
};
const FigureName& figure_name(const std::string& key) {
  static const std::map<std::string, FigureName> names = {
      {"throughput",
       {"throughput", [](const json& v) { return with_unit_or_dash(v, Unit::samples_per_second); }}},
      {"step_time_s", {"mean step time", [](const json& v) { return with_unit_or_dash(v, Unit::seconds); }}},
      {"speed_up", {"speed-up by throughput", times}},
      {"time_to_target_s",
       {"time to the target accuracy", [](const json& v) { return with_unit_or_dash(v, Unit::seconds); }}},
      {"target_speed_up", {"speed-up by time to the target accuracy", times}},
      {"read_target_speed_up", {"the same, curves read as published", times}},
      {"best_accuracy", {"best accuracy", [](const json& v) { return three_digits(number_or_nan(v)); }}}};
  return names.at(key);
}

}  // namespace

StudyTable configurations_table(const json& document) {
  StudyTable table{{"Configuration", "Workers", "Throughput", "Speed-up", "Step time", "Sent a sample",
                    "Received a sample", "Computing", "Exchange", "communicating", "waiting", "Rest",
                    "Staleness", "Local steps", "Best accuracy", "Time to target", "Speed-up to target",
                    "Target, as read", "Speed-up, as read"},
                   {}};
  for (const auto& own : document.at("configurations")) {
    if (own.at("failure") != "") continue;
    const json &shares = own.at("shares"), &exchange = own.at("exchange_shares"),
               &bytes = own.at("bytes_a_sample");
    table.rows.push_back(
        {own.at("name").get<std::string>(), with_unit_or_dash(own.at("workers"), Unit::count),
         with_unit_or_dash(own.at("throughput"), Unit::samples_per_second), times(own.at("speed_up")),
         with_unit_or_dash(own.at("step_time_s"), Unit::seconds),
         with_unit_or_dash(bytes.at("sent"), Unit::bytes),
         with_unit_or_dash(bytes.at("received"), Unit::bytes), share_of(shares, "computing"),
         share_of(shares, "exchange"), share_of(exchange, "communicating"), share_of(exchange, "waiting"),
         rest_of(shares), mean_of_distribution(own.at("staleness")),
         mean_of_distribution(own.at("local_steps")), three_digits(number_or_nan(own.at("best_accuracy"))),
         target_cell(own), times(own.at("target_speed_up")),
         with_unit_or_dash(own.at("read_time_to_target_s"), Unit::seconds),
         times(own.at("read_target_speed_up"))});
  }
  return without_empty_columns(std::move(table));
}

StudyTable knees_table(const json& document) {
  StudyTable table{{"Line", "Workers", "Throughput, first", "Throughput, last", "Efficiency, last", "Knee"},
                   {}};
  for (const auto& line : document.at("lines")) {
    const json &workers = line.at("workers"), &throughput = line.at("throughput");
    const auto count = [](const json& value) { return with_unit(value.get<double>(), Unit::count); };
    table.rows.push_back(
        {line.at("name").get<std::string>(), count(workers.front()) + " to " + count(workers.back()),
         with_unit_or_dash(throughput.front(), Unit::samples_per_second),
         with_unit_or_dash(throughput.back(), Unit::samples_per_second),
         percent(number_or_nan(line.at("efficiency").back())),
         line.at("knee").is_number() ? count(line.at("knee")) : "none up to " + count(workers.back())});
  }
  return table;
}

StudyTable published_table(const json& document) {
  StudyTable table{{"Configuration", "Published", "what", "Ours", "what", "Ours over published", "Source"},
                   {}};
  for (const auto& row : document.at("published")) {
    const FigureName& figure = figure_name(row.at("figure"));
    const std::string what = row.at("what");
    table.rows.push_back({row.at("configuration").get<std::string>(), figure.text(row.at("value")),
                          what.empty() ? figure.name : what, figure.text(row.at("ours")), figure.name,
                          three_digits(number_or_nan(row.at("ratio"))), row.at("source").get<std::string>()});
  }
  return table;
}

std::string knee_definition(const json& document) {
  return fmt::format(
      "The knee is the smallest number of workers from which going on to the next larger number raises the "
      "throughput by less than {} of what it would rise by in proportion to the workers. Efficiency is the "
      "throughput of a worker over that at the line's first point.",
      percent(document.at("knee_share")));
}

std::string shares_definition() {
  return "Shares are of the makespan, means over workers: computing, and the exchange that computing did not "
         "hide, in its two parts where every message was recorded; the rest is data, questions to a "
         "coordinator, and the time before the first and after the last step. Bytes are payload of all "
         "workers, over the samples that they processed.";
}

bool has_accuracy(const json& document) {
  const auto& all = document.at("configurations");
  return std::any_of(all.begin(), all.end(),
                     [](const json& own) { return own.at("failure") == "" && !own.at("curve").empty(); });
}

}  // namespace tandem::validation
