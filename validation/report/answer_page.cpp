#include "validation/report/answer_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tandem::validation {
namespace {

/// With more columns there is no room for gains.
constexpr std::size_t most_columns_with_gains = 4;
constexpr std::size_t most_charts = 24;

Cell marked_cell(std::string text, const Estimate& estimate) {
  const bool is_best = estimate.place != Estimate::Place::behind;
  return {std::move(text), is_best ? Cell::Mark::best : Cell::Mark::none};
}

std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// The largest value of the cells that a table shows.
double largest_of(const AnswerPanel& panel, std::size_t measure) {
  double largest = 0;
  for (const auto& row : panel.rows)
    for (const auto& cell : row.cells)
      if (cell && cell->estimates[measure].mean > largest) largest = cell->estimates[measure].mean;
  return largest;
}

Cell share_cell(double share) { return std::isnan(share) ? Cell("-") : Cell(percent(share)); }

/// "quad: throughput (samples/s) by workers".
std::string table_title(const Answer& answer, const AnswerPanel& panel, std::size_t measure) {
  const std::string unit = unit_text(answer.measures[measure], largest_of(panel, measure));
  const std::string name =
      answer.measures[measure].name + (unit.empty() ? "" : " (" + unit + ")") + " by " + answer.across->name;
  return panel.title.empty() ? capitalised(name) : panel.title + ": " + name;
}

Table table_across(const Answer& answer, const AnswerPanel& panel, std::size_t m) {
  const Measure& measure = answer.measures[m];
  const bool with_gains = m == 0 && panel.columns.size() <= most_columns_with_gains;
  const bool is_scaling = measure.key == "throughput" && answer.is_along_workers();
  const double reference = largest_of(panel, m);
  const std::string last = answer.column_name(panel.columns.back());
  Table table{.columns = {{capitalised(answer.row_title())}}};
  for (const std::size_t column : panel.columns) table.columns.push_back({answer.column_name(column)});
  if (is_scaling)
    table.columns.insert(table.columns.end(), {{"Efficiency at " + last}, {"More workers pay up to"}});
  if (m == 0) table.columns.push_back({"Bottleneck", true});
  for (const auto& row : panel.rows) {
    auto& cells = table.rows.emplace_back(Row{{row.variant}}).cells;
    for (const auto& cell : row.cells) {
      if (!cell) {
        cells.emplace_back("-");
        continue;
      }
      std::string text = number_text(measure, cell->estimates[m], reference);
      const std::string gain = gain_text(measure, cell->estimates[m].gain);
      if (with_gains && gain != "-") text += " (" + gain + ")";
      cells.push_back(marked_cell(std::move(text), cell->estimates[m]));
    }
    if (is_scaling) {
      cells.push_back(share_cell(row.efficiency.back()));
      cells.emplace_back(row.knee ? std::to_string(*row.knee) : last + " at least");
    }
    if (m == 0) cells.emplace_back(row.bottlenecks.empty() ? "-" : row.bottlenecks);
  }
  return table;
}

/// Without an axis across, a panel has one column of cells.
Table table_of_measures(const Answer& answer, const AnswerPanel& panel) {
  Table table{.columns = {{capitalised(answer.row_title())}}};
  for (const auto& measure : answer.measures)
    table.columns.insert(table.columns.end(), {{capitalised(measure.name)}, {"against the baseline"}});
  table.columns.push_back({"Bottleneck", true});
  for (const auto& row : panel.rows) {
    auto& cells = table.rows.emplace_back(Row{{row.variant}}).cells;
    const AnswerCell& cell = *row.cells.front();
    for (std::size_t m = 0; m < answer.measures.size(); ++m) {
      const Estimate& estimate = cell.estimates[m];
      cells.push_back(marked_cell(estimate_text(answer.measures[m], estimate), estimate));
      cells.emplace_back(gain_text(answer.measures[m], estimate.gain));
    }
    cells.emplace_back(row.bottlenecks.empty() ? "-" : row.bottlenecks);
  }
  return without_empty_columns(std::move(table));
}

/// The height of a line chart, or of a bar chart with one bar for each variant and column.
std::size_t chart_height(const Answer& answer, const AnswerPanel& panel) {
  if (answer.across && !answer.across->numbers.empty()) return 340;
  return 70 + 24 * std::max<std::size_t>(panel.rows.size() * panel.columns.size(), 2);
}

Chart chart_of(const Answer& answer, std::size_t panel, const std::string& id, const std::string& name) {
  const AnswerPanel& own = answer.panels[panel];
  const std::string title = own.title.empty() ? capitalised(name) : own.title + ": " + name;
  return {id + '-' + std::to_string(panel), title, chart_height(answer, own)};
}

/// Charts of each panel: efficiency along workers, then the measures.
Charts charts_of_measures(const Answer& answer) {
  Charts charts;
  const bool is_scaling = answer.is_along_workers() && answer.place_of("throughput");
  for (std::size_t i = 0; i < answer.panels.size(); ++i) {
    if (is_scaling)
      charts.charts.push_back(
          chart_of(answer, i, "efficiency", "efficiency (large point: more workers hardly pay)"));
    for (std::size_t m = 0; m < answer.measures.size(); ++m)
      charts.charts.push_back(chart_of(answer, i, "measure-" + std::to_string(m), answer.measures[m].name));
  }
  return charts;
}

/// The name of a place of the grid: "quad, 8 workers".
std::string place_name(const Answer& answer, const AnswerPanel& panel, std::size_t column) {
  if (!answer.across) return panel.title;
  const std::string value = answer.column_name(column);
  const std::string name = answer.is_along_workers() ? workers_text(value) : answer.across->named(value);
  return panel.title.empty() ? name : panel.title + ", " + name;
}

}  // namespace

void add_answer(const Answer& answer, Page& page) {
  if (!answer.text.empty() || !answer.question.empty())
    page.add(AnswerBox{answer.question, answer.text, answer.points});
}

void add_comparison_tables(const Answer& answer, Page& page) {
  for (const auto& panel : answer.panels) {
    if (!answer.across) {
      if (!panel.title.empty()) page.add(Heading{3, panel.title});
      page.add(table_of_measures(answer, panel));
      continue;
    }
    for (std::size_t m = 0; m < answer.measures.size(); ++m)
      page.add(Heading{3, table_title(answer, panel, m)}, table_across(answer, panel, m));
  }
}

void add_comparison(const Answer& answer, Page& page) {
  if (answer.panels.empty()) return;
  std::string note = "The best of each column, and what is equal to it, is bold (* in plain text).";
  if (answer.is_along_workers() && answer.place_of("throughput"))
    note += fmt::format(
        " Efficiency: throughput per worker relative to the smallest number of workers. More workers pay up "
        "to the number over which every larger one raises throughput by less than {} of a proportional gain.",
        percent(answer.knee_share));
  page.add(Heading{2, "Comparison"}, Note{note}, charts_of_measures(answer));
  add_comparison_tables(answer, page);
}

Charts charts_of_panels(const Answer& answer, const std::string& id, const std::string& name) {
  Charts charts;
  for (std::size_t i = 0; i < answer.panels.size(); ++i)
    charts.charts.push_back(chart_of(answer, i, id, name));
  return charts;
}

Charts charts_of_places(const Answer& answer, const std::string& id, std::size_t height) {
  Charts charts;
  for (const auto& panel : answer.panels)
    for (const std::size_t column : panel.columns)
      charts.charts.push_back({id + '-' + std::to_string(charts.charts.size()),
                               place_name(answer, panel, column),
                               height > 0 ? height : 60 + 22 * std::max<std::size_t>(panel.rows.size(), 2)});
  if (charts.charts.size() > most_charts) charts.charts.clear();
  return charts;
}

}  // namespace tandem::validation
