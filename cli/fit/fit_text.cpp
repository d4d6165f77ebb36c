#include "cli/fit/fit_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

std::string number_text(double value) { return significant(value, 4); }

std::string count_text(double value) { return fmt::format("{:g}", value); }

/// " (LOWER to UPPER)"; empty: there are no bounds.
std::string interval_text(double lower, double upper, std::string (*text)(double)) {
  if (!std::isfinite(lower) && !std::isfinite(upper)) return "";
  const auto bound = [&](double value) {
    return std::isfinite(value) ? text(value) : std::string("no bound");
  };
  return fmt::format(" ({} to {})", bound(lower), bound(upper));
}

/// At most a dozen of the steps, evenly chosen, with the last one.
std::string curve_text(const std::vector<lifetimes::SurvivalStep>& steps) {
  constexpr std::size_t most = 12;
  std::string text = fmt::format("  {:>10} {:>9} {:>9}  {}\n", "age", "at risk", "alive", "interval");
  const std::size_t count = steps.size(), shown = std::min(count, most);
  for (std::size_t i = 1; i <= shown; ++i) {
    const lifetimes::SurvivalStep& step = steps[count * i / shown - 1];
    text += fmt::format("  {:>10} {:>9} {:>9} {}\n", age_text(step.time), count_text(step.at_risk),
                        percent(step.survival), interval_text(step.lower, step.upper, percent));
  }
  return text;
}

std::string models_text(const EstimatedLifetimes& estimated) {
  std::string text = fmt::format("  {:<12} {:>9} {:>10} {:>11}  parameters (seconds; rates per second)\n",
                                 "model", "AIC", "difference", "likelihood");
  for (const auto& model : estimated.models) {
    std::string parameters;
    for (const auto& parameter : model.fitted.parameters)
      parameters += fmt::format("{}{} {}{}", parameters.empty() ? "" : ", ", parameter.name,
                                number_text(parameter.value),
                                interval_text(parameter.lower, parameter.upper, number_text));
    text += fmt::format("  {:<12} {:>9.1f} {:>10.1f} {:>11.1f}  {}\n", model.fitted.model, model.fitted.aic,
                        model.aic_difference, model.fitted.log_likelihood, parameters);
  }
  return text;
}

std::string chosen_text(const ChosenLifetime& chosen) {
  std::string text = fmt::format("  chosen: {}", chosen.name);
  if (chosen.name == "empirical" && chosen.options.contains("tail_rate"))
    text += fmt::format(", beyond {} with a hazard of one departure per {}",
                        age_text(std::get<double>(chosen.options.at("tail_from"))),
                        age_text(1.0 / std::get<double>(chosen.options.at("tail_rate"))));
  return text + '\n';
}

/// As keys of an experiment where the hour explains more than it costs.
std::string hours_text(const lifetimes::HoursOfDay& hours) {
  std::string text = fmt::format("  piecewise by hour of the day (UTC): {}\n", verdict_of(hours));
  if (hours.aic_difference < 0.0) text += experiment_lines_of(hours);
  return text;
}

std::string sample_text(const LifetimesSample& sample) {
  std::string text =
      fmt::format("{} machines: {} revoked, {} failed, {} censored; observed for {} in all\n",
                  count_text(sample.machines), count_text(sample.revoked), count_text(sample.failed),
                  count_text(sample.censored), age_text(sample.observed_s));
  if (sample.in_interval > 0.0)
    text += fmt::format("  of {} departures only an interval is known: the curve counts them at its end\n",
                        count_text(sample.in_interval));
  if (!sample.estimated) return text + "  no departures, so nothing can be estimated\n";
  const EstimatedLifetimes& estimated = *sample.estimated;
  const lifetimes::Estimate& mean = estimated.mean.estimate;
  text += curve_text(sample.curve.steps);
  text += fmt::format("  median {}; mean up to {}: {}{}\n",
                      std::isfinite(estimated.median) ? age_text(estimated.median) : "not reached",
                      age_text(estimated.mean.limit), age_text(mean.value),
                      interval_text(mean.lower, mean.upper, age_text));
  if (const auto& limit = estimated.limit)
    text += fmt::format(
        "  {} machines end at {}: a provider's limit; the models count these ends as censored, and have the "
        "option limit ({:g} s)\n",
        count_text(limit->ends), age_text(limit->age), limit->age);
  text += models_text(estimated) + chosen_text(estimated.chosen);
  return text + (estimated.by_hour ? hours_text(*estimated.by_hour) : "");
}

std::string comparison_text(const LifetimesFit& fit) {
  std::string text;
  if (const auto& test = fit.log_rank)
    text += fmt::format("log-rank test: chi-squared {} with {} degrees of freedom, p = {}\n",
                        number_text(test->statistic), test->degrees, number_text(test->p_value));
  if (const auto& correlation = fit.correlation)
    text += fmt::format(
        "departures within {} s of each other in one zone: {} pairs, {} if independent; index {}\n",
        number_text(correlation->window_s), correlation->index.pairs,
        number_text(correlation->index.expected), number_text(correlation->index.index));
  return text;
}

}  // namespace

std::string lifetimes_text(const LifetimesFit& fit) {
  std::string text = fit.file + ": " + sample_text(fit.all);
  for (const LifetimesSample& group : fit.groups)
    text += '\n' + name_of_group(group) + ": " + sample_text(group);
  text += '\n' + comparison_text(fit);
  return text + fmt::format("Intervals: {} at {}.\n", fit.intervals, percent(fit.confidence));
}

}  // namespace tandem::cli
