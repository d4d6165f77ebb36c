#include "validation/compare/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {
namespace {

std::string first_failed_gate(const Validation& validation) {
  for (const auto& configuration : validation.configurations) {
    if (!configuration.comparison) continue;
    const auto& c = *configuration.comparison;
    for (const auto& [gate, name] :
         {std::pair{&c.operations, "other operations"}, std::pair{&c.decisions, "other decisions"},
          std::pair{&c.replay, "decisions that do not replay"}})
      if (gate->state == Gate::State::failed) return fmt::format("{} in '{}'", name, configuration.name);
  }
  return "";
}

std::string words_of_one_group(const Ranking& ranking) {
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

/// All that was compared is one group, as the variants of an experiment are.
bool is_one_group(const SetSummary& set) {
  return set.groups.size() == 1 &&
         static_cast<int>(set.groups.front().variants.size()) == set.configurations - set.failed;
}

std::string ranking_words(const SetSummary& set) {
  if (set.groups.empty()) return "";
  if (is_one_group(set)) return words_of_one_group(set.groups.front());
  if (set.largest_regret == 0)
    return fmt::format(
        ", and choosing by simulation picks the fastest in {}",
        set.groups.size() == 1 ? "its group" : fmt::format("all {} groups", set.groups.size()));
  return fmt::format(
      ", and choosing by simulation picks the fastest in {} of {} groups and costs {:.2g} % of speed on "
      "average "
      "(at most {:.2g} %)",
      set.same_best, set.groups.size(), set.mean_regret * 100, set.largest_regret * 100);
}

std::string failures_text(const Validation& v) {
  std::string names;
  int failed = 0, told = 0;
  for (const auto& configuration : v.configurations) {
    if (configuration.failure.empty()) continue;
    ++failed;
    if (told == 3) continue;
    ++told;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", configuration.name);
  }
  if (failed > told) names += fmt::format(" and {} more", failed - told);
  return fmt::format("{} of {} configurations failed ({})", failed, v.configurations.size(), names);
}

std::string verdict_of(const Validation& v) {
  const auto& set = v.headline();
  const bool has_failed = v.set("all").failed > 0;
  const std::string failures = has_failed ? failures_text(v) + ", so the validation does not pass" : "";
  const ErrorSummary* steps = set.find("step_time");
  if (steps == nullptr) return failures + "; there is nothing to compare.";
  if (!v.gates_hold)
    return fmt::format("The two worlds did not do the same: {}; errors of time mean nothing until they do{}.",
                       first_failed_gate(v), has_failed ? "; also, " + failures_text(v) : "");
  const std::string of = set.name == "all" ? "" : set.name + " ";
  const std::string over =
      set.configurations == 1 && of.empty() ? ""
      : is_one_group(set) && of.empty()
          ? fmt::format(" over {} variants", steps->count)
          : fmt::format(" over {} {}configuration{}", steps->count, of, steps->count == 1 ? "" : "s");
  const std::string what = steps->count == 1 ? "error" : "mean absolute error";
  const bool within = v.mape <= v.tolerance;
  const std::string main = fmt::format("he simulation {} step time within {:.3g} %: {} {:.3g} %{}{}.",
                                       within ? "predicts" : "does not predict", v.tolerance * 100, what,
                                       v.mape * 100, over, ranking_words(set));
  return has_failed ? failures + "; of the others, t" + main : "T" + main;
}

}  // namespace

const SetSummary& Validation::set(const std::string& name) const {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& s) { return s.name == name; });
  TANDEM_CHECK(found != sets.end(), "set", name);
  return *found;
}

Compared compared(const VariantResults& results, const CompareOptions& options) {
  const Experiment& experiment = results.simulated.info.experiment;
  return {.name = results.name,
          .group = results.group,
          .algorithm = results.algorithm,
          .calibration = results.calibration,
          .synchronisation = experiment.sync.algorithm,
          .over_server = experiment.sync.over == sync::Route::server,
          .task = fmt::format("{} {} {}", experiment.platform, experiment.workload.model,
                              experiment.workload.dataset),
          .comparison = compare(results.simulated, results.measured, options, results.witness)};
}

Validation conclude(std::vector<Compared> configurations, double tolerance, const Resampling& resampling) {
  if (configurations.empty()) throw ConfigError("no variant to validate");
  Validation validation;
  validation.tolerance = tolerance;
  validation.configurations = std::move(configurations);
  std::vector<const Compared*> all, hold_out, calibration;
  for (const auto& configuration : validation.configurations) {
    all.push_back(&configuration);
    (configuration.calibration ? calibration : hold_out).push_back(&configuration);
    if (configuration.comparison && !configuration.comparison->gates_hold()) validation.gates_hold = false;
  }
  if (!calibration.empty() && !hold_out.empty()) {
    validation.sets.push_back(summarise_set("hold-out", hold_out, resampling));
    validation.sets.push_back(summarise_set("calibration", calibration, resampling));
  }
  validation.sets.push_back(summarise_set("all", all, resampling));
  if (const ErrorSummary* steps = validation.headline().find("step_time")) {
    validation.mape = steps->mape;
    validation.bias = steps->bias;
    validation.worst = steps->largest;
    validation.worst_variant = steps->largest_name;
  }
  const bool something = validation.headline().find("step_time") != nullptr;
  validation.passed =
      something && validation.gates_hold && validation.set("all").failed == 0 && validation.mape <= tolerance;
  validation.verdict = verdict_of(validation);
  return validation;
}

Validation validate(const std::vector<VariantResults>& variants, double tolerance,
                    const CompareOptions& options) {
  std::vector<Compared> all;
  for (const auto& variant : variants) all.push_back(compared(variant, options));
  return conclude(std::move(all), tolerance, options.resampling);
}

}  // namespace tandem::validation
