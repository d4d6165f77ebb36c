// Reading the report's document: what the text, Markdown and HTML forms of the report share.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "validation/format.hpp"

namespace tandem::validation {

/// NaN for null, which is how JSON stores it.
inline double number_or_nan(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// A figure as texts.
struct FigureText {
  std::string simulated;
  std::string measured;
  std::string error;
  std::string contribution;
  std::string interval;
  std::string noise_floor;
  std::string verdict;
};
FigureText figure_text(const nlohmann::json& figure);

/// The figure of all ranks with this key; null when the variant has none.
const nlohmann::json* find_figure(const nlohmann::json& variant, const std::string& key);

/// Gates that failed: "bsp: other operations" and the detail.
std::vector<std::pair<std::string, std::string>> failed_gates(const nlohmann::json& document);

/// "passed" if operations and decisions passed or were not to be checked, "failed" if one failed.
std::string parity_state(const nlohmann::json& variant);

/// Sentences that a reader must know to judge the figures: warm-up, unmatched steps, devices that were late.
std::vector<std::string> remarks(const nlohmann::json& document);

}  // namespace tandem::validation
