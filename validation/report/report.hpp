// The report of a validation: one JSON document, and pages made from nothing but that document. Writes files,
// opens no network connection, and what it writes does not either.
//
// report.json, schema version 6 (times in seconds, errors as ratios; null: not known):
//   question         what was asked: model, images, work per sample, batch, devices, network; "": not known
//   headline         the best configuration in words
//   warnings         [sentence, ...]: what a reader must know before the figures
//   schema_version, title, state ("PASSED", "PASSED WITH WARNINGS", "INCONCLUSIVE" or "FAILED"), passed (true
//   for the first two), verdict (a sentence), reasons and advice (lists of texts), tolerance, margin (of
//   equivalence)
//   mape, bias, worst {configuration, error}: of step time in the headline's set
//   sets             [set, ...], the headline's first; one is called "all", and with a split there are also
//                    "hold-out" (the headline) and "calibration". set:
//                    {name, configurations, failed,
//                     errors: [{key, name, unit, count, undefined (measured 0 of it), bias, mape, median, p95
//                               (of |error|), pearson (correlation of simulated and measured values
//                               over configurations), largest, largest_configuration, mape_interval: [low,
//                               high] at 90 % over configurations, noise_floor, error_over_noise,
//                               contribution and absolute_contribution (of a phase: means, of step time),
//                               witnessed (configurations with an SMPI witness), code_path and model (mean
//                               |simulated - witness| and |witness - measured| over measured), equivalent,
//                               different, inconclusive (counts of configurations)}],
//                     timing_driven: errors of step_time of the configurations with an ensemble; null: none,
//                     coverage: {configurations, runs, inside}: their measured runs in the 90 % intervals,
//                     ranking: {spearman, kendall (over all configurations), mean_spearman, mean_kendall,
//                               same_best (groups), mean_regret, largest_regret (over groups), speed_ups
//                               (variants with one over another), speed_up_mape (mean |error| of these)},
//                     groups: [{name, spearman, kendall, same_order, same_best, largest_swapped_gap, regret,
//                               variants: [{name, simulated_throughput, measured_throughput,
//                               exchanges: {local_steps (per exchange), count (per worker), staleness}, as
//                               simulated,
//                               simulated_place, measured_place, baseline (the group's bsp of the same
//                               platform, model and data set), speed_up: worlds (throughput over that of the
//                               baseline), target (accuracy), time_to_target: worlds (without evaluations;
//                               mean of all repetitions, null if one did not reach it), target_speed_up:
//                               worlds (the baseline's time to the target over its own)}]}],
//                               worlds: {simulated, measured}
//                     mean_kolmogorov, mean_wasserstein}
//   configurations   [{name, group, algorithm, set, failure ("": none; otherwise the following keys are
//                     missing),
//                      repetitions, draws (simulations of which the one with the median throughput is
//                      compared), warmup_steps, unmatched_steps, missed_deadlines (of all repetitions),
//                      cpu_wait_share (longest wait of a rank for a CPU core, of the makespan),
//                      other_load (largest share of the cores that other programs used during a run),
//                      throttled (largest share of the samples at which a GPU was throttled),
//                      other_origin (why the differences are no errors of a prediction; "": they are),
//                      gates: {operations, decisions, replay}: each {state, checked, detail},
//                      figures: [{key, name, unit, rank (-1: all), host, simulated, measured, error,
//                                 witness (value under SMPI), contribution (of a phase to the error of step
//                                 time), interval: [low, high] at 95 %, noise_floor, verdict, ensemble: {low,
//                                 high (90 % of simulations), inside (measured runs), runs}, or null}],
//                      metrics: {simulated: run, measured: [run, ...]}, run: samples, applied_samples,
//                               dropped_samples, pending_samples, applied_throughput, shares,
//                               exchange_shares, staleness, local_steps, phase_order, servers, sharding,
//                               time_to_target and membership (if there is one) of its summary.json,
//                      members: of jobs whose machines may depart, else null or missing:
//                               {departures, arrivals (while the job ran), lost_samples: worlds (measured:
//                               means over repetitions), largest_shift_s (of the time of a departure),
//                               noticed_after_s, gone_after_s: worlds (means, since departures), batch (of a
//                               worker), lost_per_departure (difference of the samples),
//                               lost_steps_per_departure, differences [text, ...] (of machines and
//                               departures), after_the_end (how many are in one result only because
//                               training had ended in the other)},
//                      data: of jobs with cache nodes, else null or missing: {simulated: {cold, warm},
//                               measured (the first)}, as in summary.json,
//                      step_times: {shares: [0.5, ...], simulated: [quantile, ...], measured, kolmogorov,
//                                   wasserstein (over the measured mean)},
//                      attribution: {total (error of step time), parts: [{phase, rank, host, kind, peer,
//                                    peer_host, share}], others {parts, share}}: shares add up to the total,
//                      environment: {simulated, measured}: run.json without its experiment,
//                      experiment, commands,
//                      detail: of chosen configurations (those with the largest errors, and some evenly),
//                      else
//                        null: {accuracy: {simulated: curve, measured: [curve, ...]}, curve:
//                               [[checkpoint_time_s, samples, accuracy], ...], ranks: {left_out, ranks:
//                               [{label, simulated: run, measured: run (the first)}]}, run: {shares,
//                               exchange_shares, bytes_sent, bytes_received} of the worker in summary.json,
//                               step_times: {simulated: [101 quantiles], measured},
//                               phase_series: {workers: [label, ...], simulated: {times: [s, ...], phases:
//                               [[phase of each worker], ...]}, measured}: at the first worker's steps;
//                               workers empty: none, data: {simulated, measured}: as data_epochs()
//                               (data_section.hpp) or null, members: {occupants: [{slot, machine (its number
//                               in the slot), host, cause, joined_s, departed_s, noticed_after_s,
//                               gone_after_s: worlds}], occupants_left_out, simulated, measured: as
//                               members_of_run() (members.hpp)} or null, timeline: {length_s, ranks_left_out,
//                               ranks: [{label, simulated: slices, measured: slices, members: {simulated,
//                               measured}: as members_in_window()}]}, slices: [[start_s, duration_s, phase,
//                               step], ...], phase indexing `phases`}}]
//   several_jobs     [{name, jobs: [{job, configuration (of which the figures of the job are), start_s},
//   ...],
//                      figures: [{key, name, unit, simulated, measured, error, noise_floor}, ...] of all of
//                      these jobs}]: of experiments of several jobs, each of which is a configuration;
//                      missing: there are none
//   hosts            [{platform, host, configurations, bias, mape}]: of the step time of ranks on them
//   profiles         [{path, configurations, settings_of (configuration whose settings were calibrated),
//                      date, machine, software, other_load (of other programs), command, failure}]
//   platforms        [what platform_drawing() returns, ...]; missing: not known
//   phases           names of the phases of a step
//   commands         how to repeat everything
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "validation/compare/summary.hpp"

namespace tandem::validation {

inline constexpr int report_schema_version = 8;

struct ReportSource {
  std::string title;                       ///< the experiment's or suite's name
  std::vector<std::string> commands;       ///< empty: those that the results name
  std::vector<nlohmann::json> profiles{};  ///< as in the schema
  std::vector<nlohmann::json> several_jobs{};
};

/// How many configurations are shown in detail when there are more: the worst, and as many evenly chosen.
inline constexpr std::size_t most_worst_details = 12;
inline constexpr std::size_t most_even_details = 12;

/// What the report says of one configuration.
nlohmann::json configuration_document(const VariantResults& results, const Comparison& comparison);
nlohmann::json failed_configuration_document(const Compared& configuration);
/// Pre: `configurations` are those of `validation`, in its order.
nlohmann::json report_document(std::vector<nlohmann::json> configurations, const Validation& validation,
                               const ReportSource& source);
nlohmann::json report_document(const std::vector<VariantResults>& variants, const Validation& validation,
                               const ReportSource& source);

}  // namespace tandem::validation
