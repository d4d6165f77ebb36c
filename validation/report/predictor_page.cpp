#include "validation/report/predictor_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "validation/page/pieces.hpp"
#include "validation/report/page.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

Table predictor_table(const std::vector<std::string>& names, const std::vector<PredictorPage::Row>& rows) {
  constexpr std::array<std::string_view, 3> in_words = {"Form", "Worst group",
                                                        "Worst group, or why not fitted"};
  Table table;
  for (const auto& name : names)
    table.columns.push_back({name, std::ranges::find(in_words, name) != in_words.end()});
  for (const auto& row : rows) {
    auto& cells = table.rows.emplace_back().cells;
    for (const auto& text : row) cells.emplace_back(text);
  }
  return without_empty_columns(std::move(table));
}

Page page_of_predictor(const PredictorPage& predictor) {
  std::set<std::string> groups;
  for (const auto& point : predictor.points) groups.insert(point.group);
  constexpr std::size_t height = 440, height_of_row = 22;
  Page page{.title = predictor.title, .kind = "Tandem predictor"};
  page.add(
      AnswerBox{"How well is a group predicted that a fit has not seen?", predictor.answer,
                predictor.warnings},
      Charts{{{"predicted", "Predicted without the group, against measured", height}}},
      Note{fmt::format("Points on the line are exact. Bars are intervals of {:g} %, or of as much as the "
                       "number of groups allows: the prediction times and over the quantile of the "
                       "errors of the other groups.",
                       100.0 * predictor.confidence)},
      predictor_table(predictor_columns(), predictor.devices), Heading{2, "By group"},
      Charts{{{"groups", "Error of each group, by a fit without it", 70 + height_of_row * groups.size()}}},
      Heading{2, "Forms"}, predictor_table(form_columns(), predictor.forms),
      Note{"Each group predicted without it; by rows: with folds over rows, which have seen other rows of "
           "the group. Errors are those of predicted over measured times."},
      Heading{2, "Notes"}, Bullets{predictor.notes}, Heading{2, "Reproduce"}, Code{predictor.command});
  return page;
}

json predictor_points(const PredictorPage& predictor) {
  json points = json::array();
  for (const auto& point : predictor.points)
    points.push_back({{"device", point.device},
                      {"group", point.group},
                      {"measured", point.measured_s},
                      {"predicted", point.predicted_s},
                      {"interval", {point.lower_s, point.upper_s}}});
  return points;
}

}  // namespace

const std::vector<std::string>& predictor_columns() {
  static const std::vector<std::string> names = {
      "Device", "Form",        "Groups", "Mean error",          "median",
      "worst",  "Worst group", "Bias",   "Within the interval", "Runs differ by"};
  return names;
}

const std::vector<std::string>& form_columns() {
  static const std::vector<std::string> names = {
      "Device", "Form", "Mean error", "median", "worst", "Bias", "By rows", "Worst group, or why not fitted"};
  return names;
}

std::string predictor_html(const PredictorPage& predictor) {
  json drawn = json::object();
  drawn["results"] = predictor_points(predictor);
  return to_html(page_of_predictor(predictor), std::move(drawn), {pieces::predictor});
}

void write_predictor_report(const std::string& directory, const PredictorPage& predictor,
                            const json& document) {
  write_report_files(directory, document, to_markdown(page_of_predictor(predictor)),
                     predictor_html(predictor));
}

}  // namespace tandem::validation
