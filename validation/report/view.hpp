// Figures of a report as texts and sentences, for the page and for the terminal.
#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validation/report/report.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {

inline double value_or_nan(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

/// "3 ms / 3.1 ms": a figure in simulation and measurement, in the unit that suits the measurement if there
/// is one. "-" for NaN.
std::string both_worlds(double simulated, double measured, Unit unit);

/// Whether a figure with this key, or its errors, belongs to a phase of a step.
bool is_phase(const std::string& key);
/// "-4.41 to -3.45 %": the unit once. `text`: percent or signed_percent. "-" for none.
std::string interval_text(const std::optional<Interval>& interval, std::string (*text)(double));

/// The values of an object of any depth as texts, by path: {"flags": {"cwnd": 1}} is ("flags.cwnd", "1").
/// A long list becomes "12 entries"; texts are not quoted.
std::vector<std::pair<std::string, std::string>> flattened(const nlohmann::json& object);

template <class T>
std::vector<const T*> pointers_to(const std::vector<T>& all) {
  std::vector<const T*> pointers;
  for (const T& one : all) pointers.push_back(&one);
  return pointers;
}

/// "exchange of rank 3 on node-4: waiting to receive from rank 6 (server)".
std::string attribution_text(const AttributedPart& part);
/// Rank correlations and the loss from choosing by simulation; empty without groups.
std::string ranking_text(const SetSummary& set);

/// Errors and coverage of the configurations that are predicted as distributions; empty without such.
std::string coverage_text(const SetSummary& set);

/// A figure of whole runs without an error; measured: mean over repetitions.
struct MetricRow {
  std::string name;
  std::string simulated;
  std::string measured;
};
/// Where time went, samples, staleness, local steps, servers.
std::vector<MetricRow> metric_rows(const ReportConfiguration& configuration);
/// "Target accuracy 0.8: simulated after 3.21 s and 5,120 samples; measured not reached (best 0.631)."; empty
/// without a target.
std::string target_text(const ReportConfiguration& configuration);
/// With one group, the speed-ups of each variant over bsp; with several, the mean error of the predicted
/// speed-ups. Empty without groups, and when there is only bsp.
std::string speed_up_text(const SetSummary& set);

/// Gates that failed: "bsp: other operations" and the detail.
std::vector<std::pair<std::string, std::string>> failed_gates(const Report& report);

/// "passed" if operations and decisions passed or could not be checked, "failed" if one failed.
std::string parity_state(const ReportConfiguration& configuration);

/// What a reader must know to interpret the figures: warm-up, unmatched steps, missed deadlines.
std::vector<std::string> remarks(const Report& report);
/// Reasons to doubt measured times: missed deadlines of emulated devices, waiting for CPU cores.
std::vector<std::string> machine_warnings(const Report& report);

}  // namespace tandem::validation
