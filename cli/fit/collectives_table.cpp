#include "cli/fit/collectives_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/fit/estimates_text.hpp"
#include "cli/shared/output.hpp"
#include "platforms/csv_table.hpp"
#include "policies/collectives/fit.hpp"
#include "policies/estimates/positive_fit.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/calibration/nccl_table.hpp"

namespace tandem::cli {
namespace {

using collectives::FittedCost;
using collectives::MeasuredTime;

constexpr std::size_t sum_byte = 0, sum_hop = 1, sum_start = 2, summed_byte = 3;

struct Row {
  MeasuredTime time;
  std::string place;
};

std::vector<Row> rows_of_csv(const std::string& path) {
  CsvTable table(path, "a table of all-reduces");
  for (const char* column : {"ranks", "bytes", "time"}) table.expect(column);
  constexpr int most_ranks = 1'000'000;
  std::vector<Row> rows;
  while (table.next_row()) {
    const auto bytes = parse_bytes(table.text("bytes"));
    if (!bytes || bytes->count() < 1) table.fail("bytes", "a size above 0", table.text("bytes"));
    const double time_s = table.duration("time");
    if (time_s <= 0.0) table.fail("time", "a time above 0", table.text("time"));
    rows.push_back({{table.whole("ranks", 2, most_ranks), bytes->count(), time_s}, table.place()});
  }
  return rows;
}

std::vector<Row> rows_of(const CollectivesFitOptions& options) {
  std::vector<Row> rows;
  for (const std::string& path : options.tables) {
    std::vector<Row> of_table;
    if (path.ends_with(".csv")) {
      of_table = rows_of_csv(path);
    } else {
      for (const auto& entry : read_nccl_table(path, options.ranks))
        of_table.push_back(
            {{entry.ranks, entry.bytes, entry.median_s}, fmt::format("{}: {} B", path, entry.bytes)});
    }
    for (Row& row : of_table)
      if (row.time.bytes >= options.least.count()) rows.push_back(std::move(row));
  }
  if (rows.size() < 2)
    throw ConfigError(fmt::format("{}: expected at least two all-reduces of at least {}, found {}",
                                  fmt::join(options.tables, ", "), to_text(options.least), rows.size()));
  return rows;
}

FittedCost with_numbers(FittedCost fitted, const std::vector<double>& numbers) {
  fitted.cost.beta = numbers[sum_byte];
  fitted.cost.alpha = Seconds(numbers[sum_hop]);
  fitted.cost.start = Seconds(numbers[sum_start]);
  fitted.cost.gamma = numbers[summed_byte];
  return fitted;
}

/// The search begins where the largest all-reduce is all bytes, and the smallest one is one hop.
estimates::PositiveFit fit_numbers(const FittedCost& schedule, const std::vector<MeasuredTime>& times,
                                   double confidence) {
  const auto by_bytes = [](const auto& a, const auto& b) { return a.bytes < b.bytes; };
  const MeasuredTime& largest = *std::ranges::max_element(times, by_bytes);
  const MeasuredTime& smallest = *std::ranges::min_element(times, by_bytes);
  const double byte_s = largest.seconds / (2.0 * static_cast<double>(largest.bytes));
  const double hop_s = smallest.seconds / (2.0 * smallest.ranks);
  std::vector<double> measured_s;
  for (const MeasuredTime& time : times) measured_s.push_back(time.seconds);
  return estimates::fit_positive(
      {{"time per byte of a message, s", byte_s, 0.0},
       {"latency of a message, s", hop_s, 0.0},
       {"start of an all-reduce, s", hop_s, 0.0},
       {"time per summed byte, s", byte_s, 0.0}},
      measured_s,
      [&](const std::vector<double>& numbers) {
        const FittedCost fitted = with_numbers(schedule, numbers);
        std::vector<double> predicted;
        for (const MeasuredTime& time : times)
          predicted.push_back(collectives::predict(fitted, time.ranks, time.bytes).count());
        return predicted;
      },
      confidence);
}

std::string schedules_of(const FittedCost& fitted, const std::vector<MeasuredTime>& times) {
  std::set<std::string> names;
  for (const MeasuredTime& time : times) names.insert(fitted.choice(time.ranks, time.bytes));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string link_text(const estimates::PositiveFit& fit) {
  const double byte_s = fit.numbers[sum_byte].value, hop_s = fit.numbers[sum_hop].value;
  if (byte_s <= 0.0) return "";
  return fmt::format("  a link with these numbers: bandwidth=\"{:.5g}MBps\" latency=\"{:.5g}us\"\n",
                     1e-6 / byte_s, hop_s * 1e6);
}

}  // namespace

void fit_collectives(const CollectivesFitOptions& options) {
  std::vector<MeasuredTime> times;
  std::vector<FittedRow> rows;
  std::set<int> ranks;
  for (const Row& row : rows_of(options)) {
    times.push_back(row.time);
    ranks.insert(row.time.ranks);
    rows.push_back(
        {fmt::format("{} ranks, {} B", row.time.ranks, row.time.bytes), row.place, row.time.seconds});
  }
  const FittedCost schedule = collectives::fit(times);
  const estimates::PositiveFit fit = fit_numbers(schedule, times, options.confidence);
  const std::string names = schedules_of(schedule, times);
  fmt::print("all-reduces from {} ({} rows): best as {}\n{}{}", fmt::join(options.tables, ", "), rows.size(),
             names, estimates_text(fit, rows), link_text(fit));
  for (const auto& warning : estimates_warnings(fit, rows)) print_warning(warning);
  if (ranks.size() == 1)
    print_warning(fmt::format(
        "all rows have {} ranks, so other schedules explain them as well; add a table of other ranks",
        *ranks.begin()));
  nlohmann::json document = estimates_document(fit, rows);
  document["schedule"] = names;
  print_document(document);
}

}  // namespace tandem::cli
