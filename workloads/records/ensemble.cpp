#include "workloads/records/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/ensemble_fields.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace {

using nlohmann::json;

/// Order statistic `position`, counted from 1, interpolated; at most the extremes. Pre: sorted.
double order_statistic(const std::vector<double>& sorted, double position) {
  const double last = static_cast<double>(sorted.size());
  const double place = std::clamp(position, 1.0, last) - 1.0;
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread_of_outcomes(std::vector<double> values, double level) {
  TANDEM_CHECK(!values.empty(), "outcomes");
  std::ranges::sort(values);
  const double places = static_cast<double>(values.size()) + 1;
  return {.median = quantile(values, 0.5),
          .low = order_statistic(values, (1 - level) / 2 * places),
          .high = order_statistic(values, (1 + level) / 2 * places)};
}

ReplicaFigures replica_figures(const Summary& summary) {
  return {.step_time = summary.step_time.mean,
          .throughput = summary.throughput,
          .makespan = summary.makespan_s,
          .phase_order = summary.phase_order.value_or(std::numeric_limits<double>::quiet_NaN())};
}

json to_json(const ReplicaFigures& figures) { return write_fields(figures); }

ReplicaFigures replica_figures_from_json(const json& document, const std::string& file) {
  return read_fields<ReplicaFigures>(document, file);
}

std::size_t median_replica(const std::vector<ReplicaFigures>& replicas) {
  TANDEM_CHECK(!replicas.empty(), "replicas");
  std::vector<std::size_t> order(replicas.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return replicas[i].step_time; });
  return order[(order.size() - 1) / 2];
}

EnsembleSummary ensemble_of(const std::vector<ReplicaFigures>& replicas) {
  const auto figure_of = [&](double ReplicaFigures::*member) -> std::optional<EnsembleFigure> {
    std::vector<double> values;
    for (const auto& replica : replicas) values.push_back(replica.*member);
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) return std::nullopt;
    Spread spread = spread_of_outcomes(values);
    if (member != &ReplicaFigures::phase_order) {
      spread.low *= 1 - ensemble_model_error;
      spread.high *= 1 + ensemble_model_error;
    }
    return EnsembleFigure{spread.median, spread.low, spread.high, std::move(values)};
  };
  return {.replicas = replicas.size(),
          .level = ensemble_level,
          .model_error = ensemble_model_error,
          .recorded = median_replica(replicas) + 1,
          .figures = {figure_of(&ReplicaFigures::step_time), figure_of(&ReplicaFigures::throughput),
                      figure_of(&ReplicaFigures::makespan), figure_of(&ReplicaFigures::phase_order)}};
}

}  // namespace tandem
