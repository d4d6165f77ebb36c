// The document that every form of the report is made from.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/report.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

constexpr std::size_t most_timeline_ranks = 8;

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::seconds:
      return "s";
    case Unit::samples_per_second:
      return "samples/s";
    case Unit::bytes:
      return "bytes";
    case Unit::count:
      return "";
    case Unit::ratio:
      return "ratio";
  }
  return "";
}

const char* verdict_name(Equivalence verdict) {
  switch (verdict) {
    case Equivalence::equivalent:
      return "equivalent";
    case Equivalence::different:
      return "different";
    case Equivalence::inconclusive:
      return "inconclusive";
  }
  return "";
}

json gate_json(const Gate& gate) {
  return {{"state", state_name(gate.state)}, {"checked", gate.checked}, {"detail", gate.detail}};
}

json figure_json(const Figure& figure) {
  return {{"key", figure.key},
          {"name", figure.name},
          {"unit", unit_name(figure.unit)},
          {"rank", figure.rank},
          {"simulated", figure.simulated},
          {"measured", figure.measured},
          {"error", figure.error},
          {"contribution", figure.contribution ? json(*figure.contribution) : json()},
          {"interval", figure.interval ? json{figure.interval->low, figure.interval->high} : json()},
          {"noise_floor", figure.noise_floor ? json(*figure.noise_floor) : json()},
          {"verdict", figure.verdict ? json(verdict_name(*figure.verdict)) : json()}};
}

json curve_json(const Results& results) {
  json curve = json::array();
  for (const auto& evaluation : results.journal.evaluations)
    if (!std::isnan(evaluation.accuracy))
      curve.push_back({evaluation.checkpoint_time.count(), evaluation.accuracy});
  return curve;
}

json accuracy_json(const VariantResults& variant) {
  json runs = json::array();
  for (const auto& run : variant.measured) runs.push_back(curve_json(run));
  return {{"simulated", curve_json(variant.simulated)}, {"measured", std::move(runs)}};
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
  const double steps_a_round =
      static_cast<double>(results.journal.steps.size()) / static_cast<double>(workers.size()) / rounds;
  return std::clamp(1.5 * steps_a_round, 4.0, 16.0) * std::max(step.simulated, step.measured);
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
    if (ranks.size() == most_timeline_ranks) break;
    const auto index = static_cast<std::size_t>(rank);
    const auto& hosts = variant.simulated.info.hosts;
    ranks.push_back({{"label", "rank " + std::to_string(rank) +
                                   (index < hosts.size() ? " on " + hosts[index] : std::string())},
                     {"simulated", slices_of(variant.simulated, rank, simulated_begin, length)},
                     {"measured", slices_of(measured, rank, measured_begin, length)}});
  }
  const std::size_t left_out = workers.size() - ranks.size();
  return {{"length_s", length}, {"ranks_left_out", left_out}, {"ranks", std::move(ranks)}};
}

// ---- Variants ----

json environment_json(const RunInfo& info) {
  json environment = to_json(info);
  environment.erase("experiment");
  return environment;
}

json variant_json(const VariantResults& variant, const Comparison& comparison) {
  json figures = json::array();
  for (const auto& figure : comparison.figures) figures.push_back(figure_json(figure));
  std::int64_t late = 0;
  double core_wait_share = 0.0;
  for (const auto& run : variant.measured) {
    late += run.journal.late_devices;
    core_wait_share =
        std::max(core_wait_share, run.journal.core_wait.count() / run.summary.at("makespan_s").get<double>());
  }
  return {{"name", variant.name},
          {"repetitions", variant.measured.size()},
          {"warmup_steps", variant.simulated.info.experiment.warmup_steps},
          {"unmatched_steps", comparison.unmatched_steps},
          {"late_devices", late},
          {"core_wait_share", core_wait_share},
          {"gates",
           {{"operations", gate_json(comparison.operations)},
            {"decisions", gate_json(comparison.decisions)},
            {"replay", gate_json(comparison.replay)}}},
          {"figures", std::move(figures)},
          {"accuracy", accuracy_json(variant)},
          {"timeline", timeline_json(variant, comparison)},
          {"environment",
           {{"simulated", environment_json(variant.simulated.info)},
            {"measured", environment_json(variant.measured.front().info)}}},
          {"experiment", to_json(variant.simulated.info.experiment)}};
}

json ranking_json(const Ranking& ranking) {
  json variants = json::array();
  for (const auto& variant : ranking.variants)
    variants.push_back({{"name", variant.name},
                        {"simulated_throughput", variant.simulated_throughput},
                        {"measured_throughput", variant.measured_throughput},
                        {"simulated_place", variant.simulated_place},
                        {"measured_place", variant.measured_place}});
  return {{"spearman", ranking.spearman ? json(*ranking.spearman) : json()},
          {"same_order", ranking.same_order},
          {"same_best", ranking.same_best},
          {"largest_swapped_gap", ranking.largest_swapped_gap},
          {"regret", ranking.regret},
          {"variants", std::move(variants)}};
}

std::vector<std::string> commands_of(const std::vector<VariantResults>& variants) {
  std::vector<std::string> commands;
  for (const auto& variant : variants) {
    commands.push_back(variant.simulated.info.command);
    for (const auto& run : variant.measured) commands.push_back(run.info.command);
  }
  return commands;
}

}  // namespace

json report_document(const std::vector<VariantResults>& variants, const Validation& validation,
                     const ReportSource& source) {
  TANDEM_CHECK(variants.size() == validation.comparisons.size());
  json all = json::array();
  for (std::size_t i = 0; i < variants.size(); ++i)
    all.push_back(variant_json(variants[i], validation.comparisons[i]));
  return {{"schema_version", 1},
          {"title", source.title},
          {"verdict", validation.verdict},
          {"passed", validation.passed},
          {"tolerance", validation.tolerance},
          {"mape", validation.mape},
          {"bias", validation.bias},
          {"worst", {{"variant", validation.worst_variant}, {"error", validation.worst}}},
          {"ranking", ranking_json(validation.ranking)},
          {"variants", std::move(all)},
          {"phases", phase_names},
          {"commands", source.commands.empty() ? commands_of(variants) : source.commands}};
}

}  // namespace tandem::validation
