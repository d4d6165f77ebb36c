#include "validation/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {
namespace {

/// 1 + how many are faster; equal ones share a place.
std::vector<int> places(const std::vector<double>& throughput) {
  std::vector<int> result;
  for (const double own : throughput)
    result.push_back(1 + static_cast<int>(std::count_if(throughput.begin(), throughput.end(),
                                                        [own](double other) { return other > own; })));
  return result;
}

/// No two variants that measurably differ are the other way round in the simulation.
bool agree(const std::vector<double>& simulated, const std::vector<double>& measured) {
  for (std::size_t i = 0; i < measured.size(); ++i)
    for (std::size_t j = 0; j < measured.size(); ++j)
      if (measured[i] > measured[j] * (1 + Ranking::tie) && simulated[i] < simulated[j]) return false;
  return true;
}

std::string first_failed_gate(const Validation& validation) {
  for (std::size_t i = 0; i < validation.comparisons.size(); ++i) {
    const auto& c = validation.comparisons[i];
    for (const auto& [gate, name] :
         {std::pair{&c.operations, "other operations"}, std::pair{&c.decisions, "other decisions"},
          std::pair{&c.replay, "decisions that do not replay"}})
      if (gate->state == Gate::State::failed) return fmt::format("{} in '{}'", name, validation.names[i]);
  }
  return "";
}

std::string ranking_words(const Ranking& ranking) {
  if (ranking.variants.size() < 2) return "";
  const std::string gap = fmt::format("{:.2g} %", ranking.largest_swapped_gap * 100);
  if (ranking.largest_swapped_gap == 0) return ", and both worlds rank the variants in the same order";
  if (ranking.same_order)
    return fmt::format(
        ", and both worlds rank the variants in the same order up to ties: those swapped are within "
        "{} of each other (a tie is up to {:.0f} %)",
        gap, Ranking::tie * 100);
  if (ranking.same_best)
    return ", and both worlds agree on the fastest variant; those they order differently are within " + gap +
           " of each other";
  return fmt::format(", but choosing by simulation would cost {:.3g} % of speed", ranking.regret * 100);
}

std::string verdict_of(const Validation& v) {
  if (!v.gates_hold)
    return fmt::format("The two worlds did not do the same: {}; errors of time mean nothing until they do.",
                       first_failed_gate(v));
  const auto count = v.comparisons.size();
  const std::string over = count == 1 ? "" : fmt::format(" over {} variants", count);
  const std::string what = count == 1 ? "error" : "mean absolute error";
  return fmt::format("The simulation {} step time within {:.3g} %: {} {:.3g} %{}{}.",
                     v.passed ? "predicts" : "does not predict", v.tolerance * 100, what, v.mape * 100, over,
                     ranking_words(v.ranking));
}

}  // namespace

Ranking rank(const std::vector<std::string>& names, const std::vector<double>& simulated,
             const std::vector<double>& measured) {
  Ranking ranking;
  const auto simulated_places = places(simulated), measured_places = places(measured);
  for (std::size_t i = 0; i < names.size(); ++i)
    ranking.variants.push_back(
        {names[i], simulated[i], measured[i], simulated_places[i], measured_places[i]});
  std::stable_sort(ranking.variants.begin(), ranking.variants.end(),
                   [](const auto& a, const auto& b) { return a.measured_place < b.measured_place; });
  ranking.spearman = spearman(simulated, measured);
  ranking.same_order = agree(simulated, measured);
  const auto favourite = std::max_element(simulated.begin(), simulated.end()) - simulated.begin();
  const double chosen = measured[static_cast<std::size_t>(favourite)];
  ranking.regret = *std::max_element(measured.begin(), measured.end()) / chosen - 1;
  ranking.same_best = ranking.regret == 0;
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = 0; b < names.size(); ++b)
      if (simulated[a] > simulated[b] && measured[a] < measured[b])
        ranking.largest_swapped_gap = std::max(ranking.largest_swapped_gap, measured[b] / measured[a] - 1);
  return ranking;
}

Validation validate(const std::vector<VariantResults>& variants, double tolerance,
                    const CompareOptions& options) {
  if (variants.empty()) throw ConfigError("no variant to validate");
  Validation validation;
  validation.tolerance = tolerance;
  std::vector<double> errors, magnitudes, simulated, measured;
  for (const auto& variant : variants) {
    const auto& comparison =
        validation.comparisons.emplace_back(compare(variant.simulated, variant.measured, options));
    validation.names.push_back(variant.name);
    errors.push_back(comparison.figure("step_time").error);
    magnitudes.push_back(std::abs(errors.back()));
    simulated.push_back(comparison.figure("throughput").simulated);
    measured.push_back(comparison.figure("throughput").measured);
    validation.gates_hold = validation.gates_hold && comparison.gates_hold();
  }
  validation.mape = boost::math::statistics::mean(magnitudes);
  validation.bias = boost::math::statistics::mean(errors);
  const auto worst = std::max_element(magnitudes.begin(), magnitudes.end()) - magnitudes.begin();
  validation.worst = errors[static_cast<std::size_t>(worst)];
  validation.worst_variant = validation.names[static_cast<std::size_t>(worst)];
  validation.ranking = rank(validation.names, simulated, measured);
  validation.passed = validation.gates_hold && validation.mape <= tolerance;
  validation.verdict = verdict_of(validation);
  return validation;
}

}  // namespace tandem::validation
