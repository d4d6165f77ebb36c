#include "cli/fit/estimates_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

json finite_number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Numbers of any size, such as seconds per byte.
std::string number_words(double value) { return std::isinf(value) ? "none" : fmt::format("{:.4g}", value); }

}  // namespace

std::string estimates_text(const estimates::PositiveFit& fit, const std::vector<FittedRow>& rows) {
  std::size_t width = 3;
  for (const FittedRow& row : rows) width = std::max(width, row.name.size());
  std::string text = fmt::format("  {:<{}}  {:>11}  {:>11}   error\n", "row", width, "measured", "fitted");
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("  {:<{}}  {:>11}  {:>11}  {:>+6.1f} %\n", rows[i].name, width,
                        with_unit(rows[i].measured_s, Unit::seconds),
                        with_unit(fit.predicted_s[i], Unit::seconds, rows[i].measured_s),
                        100 * (fit.predicted_s[i] / rows[i].measured_s - 1));
  text += fmt::format("  root mean square of the errors: {:.1f} %; {} of {} searches end with this error\n",
                      100 * fit.error, fit.agreeing, fit.starts);
  for (const auto& number : fit.numbers) {
    text += fmt::format("  {}: {}", number.name, number_words(number.value));
    if (!number.is_determined)
      text += " (not determined)";
    else if (std::isfinite(number.lower))
      text += fmt::format(" ({} to {})", number_words(number.lower), number_words(number.upper));
    text += '\n';
  }
  return text;
}

json estimates_document(const estimates::PositiveFit& fit, const std::vector<FittedRow>& rows) {
  json document = {
      {"error", fit.error},       {"searches", fit.starts}, {"searches_that_agree", fit.agreeing},
      {"numbers", json::array()}, {"rows", json::array()},  {"missed_rows", json::array()}};
  for (const auto& number : fit.numbers)
    document["numbers"].push_back({{"name", number.name},
                                   {"value", finite_number(number.value)},
                                   {"lower", finite_number(number.lower)},
                                   {"upper", finite_number(number.upper)},
                                   {"is_determined", number.is_determined}});
  for (std::size_t i = 0; i < rows.size(); ++i)
    document["rows"].push_back({{"name", rows[i].name},
                                {"place", rows[i].place},
                                {"measured_s", rows[i].measured_s},
                                {"fitted_s", fit.predicted_s[i]}});
  for (const std::size_t row : fit.missed) document["missed_rows"].push_back(rows[row].place);
  document["warnings"] = estimates_warnings(fit, rows);
  return document;
}

std::vector<std::string> estimates_warnings(const estimates::PositiveFit& fit,
                                            const std::vector<FittedRow>& rows) {
  std::vector<std::string> warnings;
  std::string unknown, mixed;
  std::size_t determined = 0;
  for (const auto& number : fit.numbers) {
    if (number.is_mixed) mixed += (mixed.empty() ? "" : "; ") + number.name;
    if (number.is_determined)
      ++determined;
    else
      unknown += (unknown.empty() ? "" : "; ") + number.name;
  }
  if (!unknown.empty())
    warnings.push_back(
        "the table does not determine these numbers, because its times hardly change with them, or change "
        "with others alike: " +
        unknown + "; they have the values that were given before the fit");
  if (!mixed.empty())
    warnings.push_back(
        "the rows need these numbers, but hardly separate them from the others: " + mixed +
        "; their intervals have all values with which others suit the rows (rows of more workers "
        "or models may tell)");
  if (determined > 0 && determined >= rows.size())
    warnings.push_back(
        fmt::format("the table has {} rows for {} numbers, so errors and intervals are unknown", rows.size(),
                    determined));
  if (!fit.missed.empty()) {
    std::string places;
    for (const std::size_t row : fit.missed)
      places += fmt::format("{}{} ({:+.0f} %)", places.empty() ? "" : ", ", rows[row].place,
                            100 * (fit.predicted_s[row] / rows[row].measured_s - 1));
    warnings.push_back("rows that the numbers do not explain: " + places);
  }
  return warnings;
}

}  // namespace tandem::cli
