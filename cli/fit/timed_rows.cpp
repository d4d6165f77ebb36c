#include "cli/fit/timed_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platforms/csv_table.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

constexpr const char* time_column = "step_time";
constexpr const char* speed_column = "steps_per_second";

/// The key that a column replaces; empty: none.
std::string key_of(const std::string& column) {
  const std::pair<const char*, const char*> shorthands[] = {
      {"workers", "placement.worker_count"}, {"model", "workload.model"}, {"batch", "workload.batch"}};
  for (const auto& [name, key] : shorthands)
    if (column == name) return key;
  return column.find('.') == std::string::npos ? "" : column;
}

double step_time_of(const CsvTable& table, std::size_t workers) {
  if (table.has(speed_column)) return static_cast<double>(workers) / table.positive(speed_column);
  const double step_s = table.duration(time_column);
  if (step_s <= 0.0) table.fail(time_column, "a time above 0", table.text(time_column));
  return step_s;
}

TimedRow row_of(const CsvTable& table, JobOptions options, PlatformCache& platforms) {
  TimedRow row{.place = table.place(), .name = {}, .step_s = 0.0, .loaded = {}};
  for (const std::string& column : table.columns()) {
    const std::string key = key_of(column);
    if (key.empty() || !table.is_given(column)) continue;
    options.settings.push_back(key + '=' + table.text(column));
    row.name += fmt::format("{}{} {}", row.name.empty() ? "" : ", ", column, table.text(column));
  }
  try {
    row.loaded = load_job(options, platforms);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", row.place, error.what()));
  }
  // Mathematics changes no time.
  row.loaded.experiment.workload.math = Experiment::Workload::Math::modelled;
  row.loaded.experiment.stop.accuracy = 0.0;
  row.step_s = step_time_of(table, row.loaded.experiment.placement.workers.size());
  return row;
}

}  // namespace

std::vector<TimedRow> read_timed_rows(const std::string& path, const JobOptions& experiment,
                                      PlatformCache& platforms) {
  CsvTable table(path, "a table of step times");
  if (table.has(time_column) == table.has(speed_column))
    table.fail_header("one of the columns step_time and steps_per_second",
                      table.has(time_column) ? "both" : "neither");
  std::vector<TimedRow> rows;
  while (table.next_row()) {
    TimedRow row = row_of(table, experiment, platforms);
    const auto same = std::ranges::find(rows, row.name, &TimedRow::name);
    if (same != rows.end())
      throw ConfigError(
          fmt::format("{}: expected each job once (the median of its times), found '{}' as in {}", row.place,
                      row.name, same->place));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw ConfigError(path + ": expected rows below the header, found none");
  return rows;
}

}  // namespace tandem::cli
