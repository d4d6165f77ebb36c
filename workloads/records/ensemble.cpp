#include "workloads/records/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem {
namespace {

using nlohmann::json;

constexpr std::pair<const char*, double ReplicaFigures::*> members[] = {
    {"step_time_s", &ReplicaFigures::step_time},
    {"throughput", &ReplicaFigures::throughput},
    {"makespan_s", &ReplicaFigures::makespan},
    {"phase_order", &ReplicaFigures::phase_order}};

double number_or_nan(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

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

ReplicaFigures replica_figures(const json& summary) {
  return {.step_time = number_or_nan(summary.at("step_time_s").at("mean")),
          .throughput = number_or_nan(summary.at("throughput")),
          .makespan = number_or_nan(summary.at("makespan_s")),
          .phase_order = number_or_nan(summary.at("phase_order"))};
}

json to_json(const ReplicaFigures& figures) {
  json document = json::object();
  for (const auto& [key, member] : members) document[key] = figures.*member;
  return document;
}

ReplicaFigures replica_figures_from_json(const json& document) {
  ReplicaFigures figures;
  for (const auto& [key, member] : members) figures.*member = number_or_nan(document.at(key));
  return figures;
}

std::size_t median_replica(const std::vector<ReplicaFigures>& replicas) {
  TANDEM_CHECK(!replicas.empty(), "replicas");
  std::vector<std::size_t> order(replicas.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return replicas[i].step_time; });
  return order[(order.size() - 1) / 2];
}

json ensemble_json(const std::vector<ReplicaFigures>& replicas) {
  json figures = json::object();
  for (const auto& [key, member] : members) {
    std::vector<double> values;
    for (const auto& replica : replicas) values.push_back(replica.*member);
    if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) {
      figures[key] = nullptr;
      continue;
    }
    Spread spread = spread_of_outcomes(values);
    if (member != &ReplicaFigures::phase_order) {
      spread.low *= 1 - ensemble_model_error;
      spread.high *= 1 + ensemble_model_error;
    }
    figures[key] = {
        {"median", spread.median}, {"low", spread.low}, {"high", spread.high}, {"values", std::move(values)}};
  }
  return {{"replicas", replicas.size()},
          {"level", ensemble_level},
          {"model_error", ensemble_model_error},
          {"recorded", median_replica(replicas) + 1},
          {"figures", std::move(figures)}};
}

}  // namespace tandem
