// Reading the report's document: what the text, Markdown and HTML forms of the report share.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "validation/report/format.hpp"

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
  std::string witness;
  std::string contribution;
  std::string interval;
  std::string noise_floor;
  std::string verdict;
};
FigureText figure_text(const nlohmann::json& figure);

/// The figure of all ranks with this key; null when the configuration has none.
const nlohmann::json* find_figure(const nlohmann::json& configuration, const std::string& key);

/// Whether an SMPI witness was compared too.
bool has_witness(const nlohmann::json& configuration);

/// Errors over configurations as texts.
struct ErrorText {
  std::string bias;
  std::string mape;
  std::string interval;
  std::string median;
  std::string p95;
  std::string largest;
  std::string noise_floor;
  std::string over_noise;
  std::string of_step_time;  ///< of a phase: mean contribution
  std::string verdicts;      ///< "5 / 1 / 0"
};
ErrorText error_text(const nlohmann::json& errors);

/// Those that were compared.
std::vector<const nlohmann::json*> compared_configurations(const nlohmann::json& document);
/// Of these, the ones with details; the largest error of step time first.
std::vector<const nlohmann::json*> detailed_configurations(const nlohmann::json& document);
std::vector<const nlohmann::json*> failed_configurations(const nlohmann::json& document);

/// "exchange of rank 3 on node-4, waiting to receive from rank 6 (server)".
std::string attribution_text(const nlohmann::json& part);
/// "Spearman 0.94, Kendall 0.87, the fastest is picked in 5 of 6 groups, regret 0.4 % on average, at most 2
/// %"; empty without groups.
std::string ranking_text(const nlohmann::json& set);

/// A figure of whole runs in both worlds, for which there is no error; measured: mean over repetitions.
struct MetricRow {
  std::string name;
  std::string simulated;
  std::string measured;
};
/// Where time went, samples, staleness, local steps, servers.
std::vector<MetricRow> metric_rows(const nlohmann::json& configuration);
/// "Target accuracy 0.8: simulated after 3.21 s and 5,120 samples; measured not reached (best 0.631)."; empty
/// without a target.
std::string target_text(const nlohmann::json& configuration);
/// What variants gain over bsp, of one group each, of several the error of the prediction; says so when there
/// is no bsp. Empty without groups, and when nothing but bsp is there.
std::string speed_up_text(const nlohmann::json& set);

/// Gates that failed: "bsp: other operations" and the detail.
std::vector<std::pair<std::string, std::string>> failed_gates(const nlohmann::json& document);

/// "passed" if operations and decisions passed or were not to be checked, "failed" if one failed.
std::string parity_state(const nlohmann::json& variant);

/// Sentences that a reader must know to judge the figures: warm-up, unmatched steps, devices that were late.
std::vector<std::string> remarks(const nlohmann::json& document);
/// What makes measured times doubtful: devices that were not kept up with, cores that were not there.
std::vector<std::string> machine_warnings(const nlohmann::json& document);

}  // namespace tandem::validation
