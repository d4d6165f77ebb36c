// What the report's document says of one configuration.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "policies/vocabulary/quantile.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_names.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

/// Of workers that are shown one by one.
constexpr std::size_t most_ranks = 8;

json gate_json(const Gate& gate) {
  return {{"state", state_name(gate.state)}, {"checked", gate.checked}, {"detail", gate.detail}};
}

json figure_json(const Figure& figure, const RunInfo& info) {
  return {{"key", figure.key},
          {"name", figure.name},
          {"unit", unit_name(figure.unit)},
          {"rank", figure.rank},
          {"host", host_of(info, figure.rank)},
          {"simulated", figure.simulated},
          {"measured", figure.measured},
          {"error", figure.error},
          {"witness", figure.witness ? json(*figure.witness) : json()},
          {"contribution", figure.contribution ? json(*figure.contribution) : json()},
          {"interval", figure.interval ? json{figure.interval->low, figure.interval->high} : json()},
          {"noise_floor", figure.noise_floor ? json(*figure.noise_floor) : json()},
          {"verdict", figure.verdict ? json(verdict_name(*figure.verdict)) : json()}};
}

json curve_json(const Results& results) {
  json curve = json::array();
  for (const auto& evaluation : results.journal.evaluations)
    if (!std::isnan(evaluation.accuracy))
      curve.push_back({evaluation.checkpoint_time.count(), evaluation.samples, evaluation.accuracy});
  return curve;
}

json accuracy_json(const VariantResults& variant) {
  json runs = json::array();
  for (const auto& run : variant.measured) runs.push_back(curve_json(run));
  return {{"simulated", curve_json(variant.simulated)}, {"measured", std::move(runs)}};
}

// ---- Metrics ----

json chosen(const json& summary, const std::vector<const char*>& keys) {
  json picked = json::object();
  for (const char* key : keys) picked[key] = summary.at(key);
  return picked;
}

json metrics_of(const Results& results) {
  return chosen(results.summary, {"samples", "applied_samples", "dropped_samples", "pending_samples",
                                  "applied_throughput", "shares", "exchange_shares", "staleness",
                                  "local_steps", "servers", "sharding", "time_to_target"});
}

json metrics_json(const VariantResults& variant) {
  json runs = json::array();
  for (const auto& run : variant.measured) runs.push_back(metrics_of(run));
  return {{"simulated", metrics_of(variant.simulated)}, {"measured", std::move(runs)}};
}

std::string label_of(const RunInfo& info, Rank rank) {
  const std::string host = host_of(info, rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " on " + host);
}

/// Null when the rank took no step.
json rank_json(const Results& results, Rank rank) {
  for (const auto& entry : results.summary.at("ranks"))
    if (entry.at("rank") == rank)
      return chosen(entry, {"shares", "exchange_shares", "bytes_sent", "bytes_received"});
  return nullptr;
}

json ranks_json(const VariantResults& variant) {
  const auto& all = variant.simulated.summary.at("ranks");
  json ranks = json::array();
  for (const auto& entry : all) {
    if (ranks.size() == most_ranks) break;
    const Rank rank = entry.at("rank");
    ranks.push_back({{"label", label_of(variant.simulated.info, rank)},
                     {"simulated", rank_json(variant.simulated, rank)},
                     {"measured", rank_json(variant.measured.front(), rank)}});
  }
  const std::size_t left_out = all.size() - ranks.size();
  return {{"left_out", left_out}, {"ranks", std::move(ranks)}};
}

// ---- Timeline ----

double first_counted_start(const Results& results) {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& step : results.journal.steps)
    if (counts(results.info, step)) first = std::min(first, step.start.count());
  return first;
}

/// Slices of a rank's phases in a window, cut at its ends.
json slices_of(const Results& results, Rank rank, double begin, double length) {
  json slices = json::array();
  for (const auto& step : results.journal.steps) {
    if (step.rank != rank) continue;
    double start = step.start.count() - begin;
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      const double end = start + step.phases[phase].count();
      const double from = std::max(start, 0.0), to = std::min(end, length);
      if (to > from) slices.push_back({from, to - from, phase, step.step});
      start = end;
    }
  }
  return slices;
}

/// Long enough for one and a half rounds, so that local steps and the exchange after them are both seen.
double window_length(const Results& results, const Comparison& comparison) {
  const auto& step = comparison.figure("step_time");
  const double rounds = std::max(1.0, results.summary.at("rounds").get<double>());
  std::set<Rank> workers;
  for (const auto& record : results.journal.steps) workers.insert(record.rank);
  const double steps_per_round =
      static_cast<double>(results.journal.steps.size()) / static_cast<double>(workers.size()) / rounds;
  return std::clamp(1.5 * steps_per_round, 4.0, 16.0) * std::max(step.simulated, step.measured);
}

json timeline_json(const VariantResults& variant, const Comparison& comparison) {
  const Results& measured = variant.measured.front();
  const double length = window_length(variant.simulated, comparison);
  const double simulated_begin = first_counted_start(variant.simulated);
  const double measured_begin = first_counted_start(measured);
  std::set<Rank> workers;
  for (const auto& step : variant.simulated.journal.steps) workers.insert(step.rank);
  json ranks = json::array();
  for (const Rank rank : workers) {
    if (ranks.size() == most_ranks) break;
    ranks.push_back({{"label", label_of(variant.simulated.info, rank)},
                     {"simulated", slices_of(variant.simulated, rank, simulated_begin, length)},
                     {"measured", slices_of(measured, rank, measured_begin, length)}});
  }
  const std::size_t left_out = workers.size() - ranks.size();
  return {{"length_s", length}, {"ranks_left_out", left_out}, {"ranks", std::move(ranks)}};
}

// ---- Distributions and attribution ----

json quantiles(const std::vector<double>& sorted, int pieces) {
  json values = json::array();
  for (int i = 0; i <= pieces; ++i)
    values.push_back(quantile(sorted, static_cast<double>(i) / static_cast<double>(pieces)));
  return values;
}

json step_times_json(const StepTimes& times) {
  json shares = json::array(), simulated = json::array(), measured = json::array();
  for (const double share : StepTimes::shares) {
    shares.push_back(share);
    simulated.push_back(quantile(times.simulated, share));
    measured.push_back(quantile(times.measured, share));
  }
  return {{"shares", std::move(shares)},
          {"simulated", std::move(simulated)},
          {"measured", std::move(measured)},
          {"kolmogorov", times.kolmogorov},
          {"wasserstein", times.wasserstein}};
}

json attribution_json(const Comparison& comparison, const RunInfo& info) {
  constexpr std::size_t most_parts = 12;
  json parts = json::array();
  double others = 0;
  for (std::size_t i = 0; i < comparison.attribution.size(); ++i) {
    const auto& part = comparison.attribution[i];
    if (i >= most_parts) {
      others += part.share;
      continue;
    }
    parts.push_back({{"phase", part.phase},
                     {"rank", part.rank},
                     {"host", host_of(info, part.rank)},
                     {"kind", part.kind},
                     {"peer", part.peer},
                     {"peer_host", host_of(info, part.peer)},
                     {"share", part.share}});
  }
  const std::size_t left = comparison.attribution.size() - parts.size();
  return {{"total", comparison.figure("step_time").error},
          {"parts", std::move(parts)},
          {"others", {{"parts", left}, {"share", others}}}};
}

// ---- Configurations ----

json environment_json(const RunInfo& info) {
  json environment = to_json(info);
  environment.erase("experiment");
  return environment;
}

json commands_of(const VariantResults& variant) {
  json commands = json::array({variant.simulated.info.command});
  if (variant.witness) commands.push_back(variant.witness->info.command);
  for (const auto& run : variant.measured) commands.push_back(run.info.command);
  return commands;
}

}  // namespace

json configuration_document(const VariantResults& variant, const Comparison& comparison) {
  const RunInfo& info = variant.simulated.info;
  json figures = json::array();
  for (const auto& figure : comparison.figures) figures.push_back(figure_json(figure, info));
  std::int64_t late = 0;
  double cpu_wait_share = 0.0;
  double other_load = 0.0;
  for (const auto& run : variant.measured) {
    late += run.journal.late_devices;
    other_load = std::max(other_load, run.journal.other_load);
    cpu_wait_share =
        std::max(cpu_wait_share, run.journal.cpu_wait.count() / run.summary.at("makespan_s").get<double>());
  }
  return {{"name", variant.name},
          {"group", variant.group},
          {"algorithm", variant.algorithm.empty() ? variant.name : variant.algorithm},
          {"set", variant.calibration ? "calibration" : "hold-out"},
          {"failure", ""},
          {"repetitions", variant.measured.size()},
          {"draws", variant.draws},
          {"warmup_steps", info.experiment.warmup_steps},
          {"unmatched_steps", comparison.unmatched_steps},
          {"late_devices", late},
          {"cpu_wait_share", cpu_wait_share},
          {"other_load", other_load},
          {"gates",
           {{"operations", gate_json(comparison.operations)},
            {"decisions", gate_json(comparison.decisions)},
            {"replay", gate_json(comparison.replay)}}},
          {"figures", std::move(figures)},
          {"metrics", metrics_json(variant)},
          {"step_times", step_times_json(comparison.step_times)},
          {"attribution", attribution_json(comparison, info)},
          {"environment",
           {{"simulated", environment_json(info)},
            {"measured", environment_json(variant.measured.front().info)}}},
          {"experiment", to_json(info.experiment)},
          {"commands", commands_of(variant)},
          {"detail",
           {{"accuracy", accuracy_json(variant)},
            {"ranks", ranks_json(variant)},
            {"step_times",
             {{"simulated", quantiles(comparison.step_times.simulated, 100)},
              {"measured", quantiles(comparison.step_times.measured, 100)}}},
            {"timeline", timeline_json(variant, comparison)}}}};
}

json failed_configuration_document(const Compared& configuration) {
  return {{"name", configuration.name},
          {"group", configuration.group},
          {"algorithm", configuration.algorithm},
          {"set", configuration.calibration ? "calibration" : "hold-out"},
          {"failure", configuration.failure}};
}

}  // namespace tandem::validation
