#include "validation/compare/summary.hpp"

#include <fmt/format.h>
#include <math.h>  // Boost 1.74 uses sqrt without including it

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <map>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "validation/compare/disturbance.hpp"

namespace tandem::validation {
namespace {

using Configurations = std::vector<const Compared*>;

/// A rank that waits longer for a CPU core, of the makespan, is worth a warning.
constexpr double large_cpu_wait = 0.1;

// ---- A set of configurations: errors, rankings by group, distributions ----

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return boost::math::statistics::mean(values);
}

void count_verdict(const Figure& figure, ErrorSummary& summary) {
  if (!figure.verdict) return;
  switch (*figure.verdict) {
    case Equivalence::equivalent:
      ++summary.equivalent;
      break;
    case Equivalence::different:
      ++summary.different;
      break;
    case Equivalence::inconclusive:
      ++summary.inconclusive;
  }
}

void finish(ErrorSummary& summary, const std::vector<double>& errors, const std::vector<double>& floors,
            const Resampling& resampling) {
  std::vector<double> magnitudes;
  for (const double error : errors) magnitudes.push_back(std::abs(error));
  summary.count = static_cast<int>(errors.size());
  if (errors.empty()) return;
  summary.bias = boost::math::statistics::mean(errors);
  summary.mape = boost::math::statistics::mean(magnitudes);
  summary.median = quantile(magnitudes, 0.5);
  summary.p95 = quantile(magnitudes, 0.95);
  summary.mape_interval = percentile_interval(resampled_means(magnitudes, resampling), 0.9);
  summary.noise_floor = mean_of(floors);
  if (summary.noise_floor && *summary.noise_floor > 0)
    summary.error_over_noise = summary.mape / *summary.noise_floor;
}

/// Configurations without a phase do not count in the errors of that phase.
bool is_absent_phase(const Figure& figure) {
  return figure.key.starts_with("phase.") && figure.simulated == 0 && figure.measured == 0;
}

ErrorSummary errors_of(const Figure& kind, const Configurations& configurations,
                       const Resampling& resampling) {
  ErrorSummary summary{.key = kind.key, .name = kind.name, .unit = kind.unit};
  std::vector<double> simulated, measured;
  std::vector<double> errors, floors, half_widths, contributions, magnitudes, code_paths, models;
  for (const auto* configuration : configurations) {
    const Figure* figure = configuration->comparison->find(kind.key);
    if (figure == nullptr || is_absent_phase(*figure)) continue;
    if (figure->contribution) {
      contributions.push_back(*figure->contribution);
      magnitudes.push_back(std::abs(*figure->contribution));
    }
    if (!std::isfinite(figure->error)) {
      ++summary.undefined;
      continue;
    }
    if (std::abs(figure->error) > std::abs(summary.largest)) {
      summary.largest = figure->error;
      summary.largest_name = configuration->name;
    }
    errors.push_back(figure->error);
    simulated.push_back(figure->simulated);
    measured.push_back(figure->measured);
    if (figure->noise_floor && std::isfinite(*figure->noise_floor)) floors.push_back(*figure->noise_floor);
    if (figure->interval) half_widths.push_back((figure->interval->high - figure->interval->low) / 2);
    count_verdict(*figure, summary);
    if (!figure->witness || figure->measured == 0) continue;
    code_paths.push_back(std::abs(figure->simulated - *figure->witness) / figure->measured);
    models.push_back(std::abs(*figure->witness - figure->measured) / figure->measured);
  }
  summary.pearson = pearson(simulated, measured);
  summary.witnessed = static_cast<int>(models.size());
  summary.code_path = mean_of(code_paths);
  summary.model = mean_of(models);
  summary.half_width = mean_of(half_widths);
  summary.contribution = mean_of(contributions);
  summary.absolute_contribution = mean_of(magnitudes);
  finish(summary, errors, floors, resampling);
  return summary;
}

void add_errors(const Configurations& configurations, const Resampling& resampling, SetSummary& set) {
  for (const auto* configuration : configurations)
    for (const auto& figure : configuration->comparison->figures)
      if (figure.rank < 0 && set.find(figure.key) == nullptr)
        set.errors.push_back(errors_of(figure, configurations, resampling));
}

void add_coverage(const Configurations& configurations, const Resampling& resampling, SetSummary& set) {
  Configurations with_ensemble;
  for (const auto* configuration : configurations) {
    const Figure& steps = configuration->comparison->figure("step_time");
    if (!steps.ensemble) continue;
    with_ensemble.push_back(configuration);
    ++set.coverage.configurations;
    set.coverage.runs += steps.ensemble->runs;
    set.coverage.inside += steps.ensemble->inside;
  }
  if (!with_ensemble.empty())
    set.timing_driven =
        errors_of(with_ensemble.front()->comparison->figure("step_time"), with_ensemble, resampling);
}

Ranking rank_of(const Configurations& configurations) {
  std::vector<std::string> names;
  std::vector<double> simulated, measured, floors;
  for (const auto* configuration : configurations) {
    names.push_back(configuration->label());
    const auto& throughput = configuration->comparison->figure("throughput");
    simulated.push_back(throughput.simulated);
    measured.push_back(throughput.measured);
    if (throughput.noise_floor) floors.push_back(*throughput.noise_floor);
  }
  return rank(names, simulated, measured, mean_of(floors).value_or(0));
}

void add_rankings(const Configurations& configurations, SetSummary& set) {
  std::vector<std::string> groups;
  for (const auto* configuration : configurations)
    if (std::find(groups.begin(), groups.end(), configuration->group) == groups.end())
      groups.push_back(configuration->group);
  std::vector<double> regrets, spearmans, kendalls, speed_up_errors;
  for (const auto& group : groups) {
    Configurations members;
    for (const auto* configuration : configurations)
      if (configuration->group == group) members.push_back(configuration);
    if (members.size() < 2) continue;
    Ranking& ranking = set.groups.emplace_back(rank_of(members));
    ranking.group = group;
    add_speed_ups(members, ranking);
    for (const auto& variant : ranking.variants)
      if (!variant.baseline.empty() && variant.baseline != variant.name)
        speed_up_errors.push_back(
            std::abs(relative_error(*variant.speed_up.simulated, *variant.speed_up.measured)));
    set.same_best += ranking.same_best;
    regrets.push_back(ranking.regret);
    if (ranking.spearman) spearmans.push_back(*ranking.spearman);
    if (ranking.kendall) kendalls.push_back(*ranking.kendall);
  }
  set.mean_regret = mean_of(regrets).value_or(0);
  set.largest_regret = regrets.empty() ? 0 : *std::max_element(regrets.begin(), regrets.end());
  set.speed_ups = static_cast<int>(speed_up_errors.size());
  set.speed_up_mape = mean_of(speed_up_errors);
  set.mean_spearman = mean_of(spearmans);
  set.mean_kendall = mean_of(kendalls);
  if (configurations.size() < 2) return;
  const Ranking all = rank_of(configurations);
  set.spearman = all.spearman;
  set.kendall = all.kendall;
}

// ---- The verdict ----

std::string first_failed_gate(const Validation& validation) {
  for (const auto& configuration : validation.configurations) {
    if (!configuration.comparison) continue;
    const auto& c = *configuration.comparison;
    for (const auto& [gate, name] :
         {std::pair{&c.operations, "different operations"}, std::pair{&c.decisions, "different decisions"},
          std::pair{&c.replay, "decisions that replay differently"}})
      if (gate->state == Gate::State::failed) return fmt::format("{} in '{}'", name, configuration.name);
  }
  return "";
}

/// Why the differences of the first configuration that predicts nothing are not errors; empty: all predict.
std::string other_origin(const Validation& validation) {
  for (const auto& configuration : validation.configurations)
    if (configuration.comparison && !configuration.comparison->origin.difference.empty())
      return fmt::format("{} ('{}')", configuration.comparison->origin.difference, configuration.name);
  return "";
}

/// The first difference of the machines that departed or arrived, and how many others there are.
std::string other_members(const Validation& validation) {
  std::string first;
  std::size_t count = 0;
  for (const auto& configuration : validation.configurations) {
    if (!configuration.comparison || !configuration.comparison->members) continue;
    const auto& differences = configuration.comparison->members->differences;
    if (first.empty() && !differences.empty())
      first = fmt::format("{} ('{}')", differences.front(), configuration.name);
    count += differences.size();
  }
  return count < 2 ? first
                   : fmt::format("{}, and {} more difference{}", first, count - 1, count == 2 ? "" : "s");
}

/// Some differ though the measurement could have killed the same ranks.
bool revokes_nothing(const Validation& validation) {
  return std::ranges::any_of(validation.configurations, [](const Compared& configuration) {
    return configuration.revokes_nothing && configuration.comparison && configuration.comparison->members &&
           !configuration.comparison->members->differences.empty();
  });
}

std::string words_of_one_group(const Ranking& ranking) {
  const std::string gap = fmt::format("{:.2g} %", ranking.largest_swapped_gap * 100);
  if (ranking.largest_swapped_gap == 0)
    return ", and simulation and measurement rank the variants in the same order";
  if (ranking.same_order)
    return fmt::format(
        ", and simulation and measurement rank the variants in the same order up to ties: those swapped are "
        "within {} of "
        "each other (a tie is up to {:.0f} %)",
        gap, ranking.tie * 100);
  if (ranking.same_best)
    return ", and simulation and measurement agree on the fastest variant; those they order differently are "
           "within " +
           gap + " of each other";
  return fmt::format(", but choosing by simulation would lose {:.3g} % of throughput", ranking.regret * 100);
}

/// Whether all compared configurations are one group, like the variants of an experiment.
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
      ", and choosing by simulation picks the fastest in {} of {} groups and loses {:.2g} % of throughput on "
      "average "
      "(at most {:.2g} %)",
      set.same_best, set.groups.size(), set.mean_regret * 100, set.largest_regret * 100);
}

std::string failures_text(const Validation& v) {
  std::string names;
  int failed = 0, named = 0;
  for (const auto& configuration : v.configurations) {
    if (configuration.failure.empty()) continue;
    ++failed;
    if (named == 3) continue;
    ++named;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", configuration.name);
  }
  if (failed > named) names += fmt::format(" and {} more", failed - named);
  return fmt::format("{} of {} configurations failed ({})", failed, v.configurations.size(), names);
}

std::string verdict_of(const Validation& v) {
  const auto& set = v.headline();
  const bool has_failed = v.set("all").failed > 0;
  const std::string failures = has_failed ? failures_text(v) + ", so the validation does not pass" : "";
  const ErrorSummary* steps = set.find("step_time");
  if (steps == nullptr) return failures + "; there is nothing to compare.";
  if (!v.gates_hold)
    return fmt::format(
        "Simulation and measurement did not do the same work: {}; time errors are meaningless until they "
        "do{}.",
        first_failed_gate(v), has_failed ? "; also, " + failures_text(v) : "");
  if (const std::string why = other_origin(v); !why.empty())
    return fmt::format(
        "Simulation and measurement differ for another reason than errors of a prediction: {}.", why);
  if (const std::string which = other_members(v); !which.empty())
    return fmt::format(
        "Different machines departed or arrived in simulation and measurement: {}; time errors are "
        "meaningless.",
        which);
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

// ---- The first lines of a report ----

/// The contenders in the set of the headline.
std::vector<Contender> contenders_of(const Validation& validation) {
  std::vector<Contender> all;
  const bool of_hold_out = validation.headline().name != "all";
  for (const auto& own : validation.configurations) {
    if (!own.comparison || (of_hold_out && own.calibration)) continue;
    Contender contender{.name = own.name,
                        .group = own.group,
                        .algorithm = own.algorithm,
                        .throughput = own.comparison->figure("throughput").simulated,
                        .exchanges = own.exchanges,
                        .has_accuracy = own.has_accuracy};
    if (own.has_accuracy) contender.learning_rate = own.learning_rate;
    if (const auto& held = own.comparison->figure("throughput").ensemble)
      contender.interval = Interval{held->low, held->high};
    if (const auto& target = own.comparison->target) {
      contender.target = target->target;
      contender.time_to_target = target->simulated;
    }
    for (const auto& group : validation.headline().groups)
      for (const auto& variant : group.variants) {
        if (group.group != own.group || variant.name != own.label()) continue;
        contender.speed_up = variant.speed_up.simulated;
        contender.target_speed_up = variant.target_speed_up.simulated;
        for (const auto& other : validation.configurations)
          if (other.group == own.group && other.label() == variant.baseline) contender.baseline = other.name;
      }
    all.push_back(std::move(contender));
  }
  return all;
}

void add_opening(Validation& validation) {
  Headline headline = headline_of(contenders_of(validation));
  validation.best = std::move(headline.text);
  validation.warnings = std::move(headline.warnings);
  std::vector<std::vector<std::string>> questions;
  for (const auto& configuration : validation.configurations) {
    questions.push_back(configuration.question);
    for (const auto& warning : configuration.warnings)
      if (std::ranges::find(validation.warnings, warning) == validation.warnings.end())
        validation.warnings.push_back(warning);
  }
  validation.question = question_line(questions);
}

// ---- What the verdict depends on ----

/// That the phases of the workers explain an error of step time; empty: they do not, or there is none.
std::string phase_cause(const Compared& configuration, double tolerance) {
  constexpr double large_difference = 0.1;
  const Figure* order = configuration.comparison->find("phase_order");
  const Figure& steps = configuration.comparison->figure("step_time");
  if (order == nullptr || std::abs(steps.error) <= tolerance / 2) return "";
  const double difference = order->simulated - order->measured;
  // Workers in phase use one direction of a server's link at a time and take longer.
  if (std::abs(difference) < large_difference || (difference > 0) != (steps.error > 0)) return "";
  return fmt::format(
      "'{}': workers are {} in phase when simulated (phase order {:.2f}, measured {:.2f}), which makes their "
      "steps "
      "{}: the error of step time, {:+.3g} %, is one of phases",
      configuration.name, difference > 0 ? "more" : "less", order->simulated, order->measured,
      difference > 0 ? "longer" : "shorter", steps.error * 100);
}

std::vector<std::string> warnings_of(const Validation& v) {
  std::vector<std::string> warnings;
  std::size_t once = 0, starved = 0, unknown = 0, compared = 0;
  std::map<std::string, std::size_t> unchecked;  // by reason
  for (const auto& configuration : v.configurations) {
    if (!configuration.comparison) continue;
    ++compared;
    once += configuration.repetitions < 2 ? 1 : 0;
    starved += configuration.cpu_wait_share > large_cpu_wait ? 1 : 0;
    const Gate& operations = configuration.comparison->operations;
    if (operations.state == Gate::State::not_checked) ++unchecked[operations.detail];
    unknown += configuration.comparison->origin.unknown.empty() ? 0 : 1;
  }
  const auto warn = [&](std::size_t count, const std::string& what) {
    if (count == 0) return;
    warnings.push_back(compared == 1 ? what
                                     : fmt::format("{} of {} configurations: {}", count, compared, what));
  };
  warn(once, "measured once, so the noise of the measurement is not known (--set repetitions=3)");
  warn(starved,
       fmt::format("a rank waited for a CPU core for more than {:.0f} % of the time: more ranks than cores",
                   large_cpu_wait * 100));
  for (const auto& [reason, count] : unchecked) warn(count, "the work was not compared: " + reason);
  warn(unknown,
       "the results do not say whose network and devices they used (an older version wrote them), so the "
       "differences may be no errors of a prediction; make them again");
  for (const auto& configuration : v.configurations)
    if (configuration.comparison)
      if (const std::string cause = phase_cause(configuration, v.tolerance); !cause.empty())
        warnings.push_back(cause);
  for (const char* key : {"step_time", "throughput", "makespan"}) {
    const ErrorSummary* errors = v.headline().find(key);
    if (errors != nullptr && errors->count > 1 && std::abs(errors->largest) > v.tolerance)
      warnings.push_back(fmt::format("the error of {} is {:+.3g} % in '{}', beyond the tolerance",
                                     errors->name, errors->largest * 100, errors->largest_name));
  }
  return warnings;
}

Evidence evidence_of(const Validation& v) {
  const SetSummary& set = v.headline();
  Evidence evidence{.tolerance = v.tolerance,
                    .configurations = static_cast<int>(v.configurations.size()),
                    .failed = v.set("all").failed,
                    .other_origin = other_origin(v),
                    .other_members = other_members(v),
                    .revokes_nothing = revokes_nothing(v),
                    .interval_runs = set.coverage.runs,
                    .interval_inside = set.coverage.inside,
                    .failed_gate = first_failed_gate(v),
                    .warnings = warnings_of(v)};
  for (const char* key : {"step_time", "throughput", "makespan"})
    if (const ErrorSummary* errors = set.find(key))
      evidence.errors.push_back({errors->name, errors->mape, errors->half_width, errors->noise_floor});
  for (const auto& configuration : v.configurations) {
    evidence.disturbed += configuration.other_load > disturbing_load ? 1 : 0;
    evidence.disturbed_calibration += configuration.calibration_load > disturbing_load ? 1 : 0;
    evidence.calibration_load = std::max(evidence.calibration_load, configuration.calibration_load);
  }
  for (const auto& group : set.groups) {
    if (group.same_order || group.largest_swapped_gap <= evidence.swapped_gap) continue;
    evidence.swapped = group.swapped;
    evidence.swapped_gap = group.largest_swapped_gap;
  }
  return evidence;
}

}  // namespace

const ErrorSummary* SetSummary::find(const std::string& key) const {
  for (const auto& summary : errors)
    if (summary.key == key) return &summary;
  return nullptr;
}

SetSummary summarise_set(const std::string& name, const Configurations& configurations,
                         const Resampling& resampling) {
  SetSummary set{.name = name, .configurations = static_cast<int>(configurations.size())};
  Configurations worked;
  std::vector<double> kolmogorov, wasserstein;
  for (const auto* configuration : configurations) {
    if (!configuration->comparison) {
      ++set.failed;
      continue;
    }
    worked.push_back(configuration);
    kolmogorov.push_back(configuration->comparison->step_times.kolmogorov);
    wasserstein.push_back(configuration->comparison->step_times.wasserstein);
  }
  add_errors(worked, resampling, set);
  add_coverage(worked, resampling, set);
  add_rankings(worked, set);
  set.mean_kolmogorov = mean_of(kolmogorov).value_or(0);
  set.mean_wasserstein = mean_of(wasserstein).value_or(0);
  return set;
}

const SetSummary& Validation::set(const std::string& name) const {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& s) { return s.name == name; });
  TANDEM_CHECK(found != sets.end(), "set", name);
  return *found;
}

namespace {

/// 0 where no profile was used, or it was measured by an earlier version.
double calibration_load_of(const RunInfo& info) {
  return info.network ? info.network->calibration_load.value_or(0.0) : 0.0;
}

}  // namespace

Compared compared(const VariantResults& results, const CompareOptions& options) {
  const Experiment& experiment = results.simulated.info.experiment;
  const Summary& summary = results.simulated.summary;
  double other_load = 0, cpu_wait_share = 0;
  for (const auto& run : results.measured) {
    other_load = std::max(other_load, run.journal.other_load);
    cpu_wait_share = std::max(cpu_wait_share, run.journal.cpu_wait.count() / run.summary.makespan_s);
  }
  return {.name = results.name,
          .group = results.group,
          .algorithm = results.algorithm,
          .calibration = results.calibration,
          .synchronisation = experiment.sync.algorithm,
          .over_server = experiment.sync.over == sync::Route::server,
          .task = fmt::format("{} {} {}", experiment.platform, experiment.workload.model,
                              experiment.workload.dataset),
          .repetitions = results.measured.size(),
          .other_load = other_load,
          .calibration_load = calibration_load_of(results.simulated.info),
          .cpu_wait_share = cpu_wait_share,
          .exchanges = exchanges_of(summary.local_steps, summary.rounds, summary.staleness),
          .revokes_nothing = experiment.continuation() == Continuation::restart_on_departure &&
                             experiment.run.revoke == RevokeMode::none,
          .has_accuracy = std::ranges::any_of(
              results.simulated.journal.evaluations,
              [](const EvaluationRecord& evaluation) { return !std::isnan(evaluation.accuracy); }),
          .learning_rate = experiment.optimizer.learning_rate,
          .question = results.simulated.info.question,
          .warnings = results.simulated.info.warnings,
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
  add_opening(validation);
  validation.judgement = judge(evidence_of(validation));
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
