#include "cli/fit/speeds_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platforms/csv_table.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::cli {
namespace {

constexpr int most_workers = 1'000'000;

SpeedsRow row_of(const CsvTable& table) {
  if (!table.is_given("model")) table.fail("model", "the name of a model", "");
  return {table.whole("workers", 1, most_workers), table.text("model"), table.positive("steps_per_second"),
          table.place()};
}

void expect_distinct(const std::vector<SpeedsRow>& rows, const SpeedsRow& row) {
  const auto same = [&](const auto& other) {
    return other.workers == row.workers && other.model == row.model;
  };
  if (const auto first = std::ranges::find_if(rows, same); first != rows.end())
    throw ConfigError(
        fmt::format("{}: expected each model and number of workers once, found '{}' with {} as in {}",
                    row.place, row.model, row.workers, first->place));
}

void expect_enough(const std::vector<SpeedsRow>& rows, const std::string& path) {
  const std::string expected =
      path + ": expected at least two rows with different numbers of workers, found ";
  if (rows.size() < 2) throw ConfigError(expected + (rows.empty() ? "none" : "one row"));
  const auto other = [&](const auto& row) { return row.workers != rows.front().workers; };
  if (std::ranges::none_of(rows, other))
    throw ConfigError(fmt::format("{}{} rows with {}", expected, rows.size(), rows.front().workers));
}

}  // namespace

std::vector<SpeedsRow> read_speeds_file(const std::string& path) {
  CsvTable table(path, "a table of training speeds");
  for (const char* column : {"workers", "model", "steps_per_second"}) table.expect(column);
  std::vector<SpeedsRow> rows;
  while (table.next_row()) {
    SpeedsRow row = row_of(table);
    expect_distinct(rows, row);
    rows.push_back(std::move(row));
  }
  expect_enough(rows, path);
  return rows;
}

}  // namespace tandem::cli
