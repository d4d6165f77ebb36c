// The report of a study, which compares configurations that were only simulated: one JSON document, and pages
// made from nothing but that document. Pure except for writing files.
//
// report.json of a study, schema version 6 (times in seconds, shares of 1; null: not known, or none).
// README.md has a table of the first level:
//   kind             "study"; the report of a validation has no such key
//   question         the job: model, images, work per sample, batch, devices, network; "": not known
//   answer           {question (about; else as above), text, points [sentence, ...],
//                      measures: [{key, name, unit, more_is_better}, ...]: the first one decides,
//                      across: axis or null, down (rows in place of variants) the same, others: [axis, ...];
//                      axis: {key, name, values, numbers (of the values; empty: words)}, panels: [{title,
//                      columns (positions among the values across; [0] without an axis across), rows:
//                      [{variant, efficiency: [of each column, ...] (along workers only), knee: see
//                      knee_of(), bottlenecks (in words), cells: [of each column, or null: {configurations:
//                      [name of each seed, ...], estimates: [of each measure: {mean, deviation (of the
//                      sample; null: one seed), gain (over the baseline: a ratio; of an accuracy a
//                      difference), place: "best", "equal" (to it) or "behind"}], shares (mean over the
//                      seeds), bottleneck: {part, share}}]}]}]}: one place of the grid per cell
//   warnings         [sentence, ...]: what a reader must know before the figures
//   schema_version, title, about (the question of the study's file), notes [text, ...]
//   commands         [how to reproduce it, ...]
//   knee_share       see knee_of()
//   baseline         study.baseline; "": synchronous SGD (bsp)
//   configurations   [{name, group, algorithm (the variant), coordinates: [[key of the grid, value], ...],
//                      failure ("": none;
//                      otherwise the following keys are missing),
//                      workers (how many), throughput, applied_throughput (samples per second), step_time_s
//                      (mean after the warm-up), intervals: {throughput, step_time_s, makespan_s}: [low,
//                      high] of 90 % of the ensemble's simulations (null: one simulation), phase_order,
//                      makespan_s, rounds, samples, bytes: {sent, received} (by all workers),
//                      bytes_per_sample: {sent, received}, shares, exchange_shares, binding (Binding in
//                      attribution.hpp; null: no step counts), staleness, local_steps,
//                      membership (of summary.json; null or missing: no machine may depart), cache_hit_ratio
//                      (null: workers hold their samples), data: cold and warm of summary.json's `data`
//                      (null as before), least_capacity (with study.stall; null for jobs without cache
//                      nodes, and where warnings say why there is none): {stall (the limit), capacity_bytes
//                      (null: none suffices), data_set_bytes, step_bytes, tried: [[capacity_bytes, stall
//                      (null: the job is not possible with it)], ...]}, time_to_target: as in summary.json,
//                      of all workers, time_to_target_s (when the model that reached the target was taken),
//                      best_accuracy, question, warnings: as in run.json, curve:
//                      [[checkpoint_time_s, samples, accuracy], ...], baseline (name of the configuration of
//                      its group that it is compared with), speed_up (throughput over the baseline's),
//                      target_speed_up (the baseline's time_to_target_s over its own), read_time_to_target_s,
//                      read_target_speed_up: the same by the reading that the study's file describes
//                      (CurveReading), experiment, environment (run.json without its experiment), command}]
//                      Each of several jobs is a configuration, with job (its name), start_s,
//                      alone_makespan_s and slow_down (null: it was not simulated alone), and jobs_hash
//                      (digest of the keys of all jobs but their seeds).
//   several_jobs     [{name, jobs: [{job, configuration (the name above), start_s}, ...], makespan_s,
//                      jain_index, slow_down: {min, max}, shared_cache (as in summary.json; null as there),
//                      least_capacity (as above, for the longest stall of a job)}]: of experiments of
//                      several jobs; missing: there are none
//   seeds            as means_over_seeds() returns it; missing: not known
//   platforms        [what platform_drawing() returns, ...]; missing: not known
//   published        [{configuration, figure (key of a configuration), what, value, source, ours, ratio (ours
//                      over theirs)}]
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "validation/campaign/study_section.hpp"
#include "validation/report/page.hpp"

namespace tandem::validation {

inline constexpr int study_schema_version = 6;

/// Which configuration something is of.
struct StudyConfiguration {
  std::string name;
  std::string group;
  std::string algorithm;
  std::vector<std::pair<std::string, std::string>> coordinates;  ///< keys of the grid and their values
};

/// What the document says of one; `summary` and `run`: its summary.json and run.json; `binding`: of
/// binding_json().
nlohmann::json study_configuration(const StudyConfiguration& configuration, const nlohmann::json& summary,
                                   const nlohmann::json& run, const nlohmann::json& binding);
nlohmann::json failed_study_configuration(const StudyConfiguration& configuration,
                                          const std::string& failure);

/// Adds the answer, baselines, speed-ups and what is published. `commands`: how to repeat everything.
/// Pre: names in `section` are those of configurations.
nlohmann::json study_document(std::vector<nlohmann::json> configurations, const std::string& title,
                              const StudySection& section, const std::vector<std::string>& commands);

/// The knee of a line: its smallest number of workers from which going to the next larger number raises the
/// throughput by less than `share` of what the throughput would rise by in proportion to the workers. None
/// when every step gains that much. Pre: (workers, throughput), workers rising, both above 0.
std::optional<int> knee_of(const std::vector<std::pair<int, double>>& points, double share);

/// When the curve of [time, samples, accuracy], evaluated by that reading, first reaches `target`; none if it
/// never does.
std::optional<double> read_time_to(double target, const nlohmann::json& curve, const CurveReading& reading);

/// One row per configuration that worked, without columns that have no value. Where the grid varies, the
/// first columns are the values of its keys.
Table configurations_table(const nlohmann::json& document);

/// For a terminal.
std::string study_table(const nlohmann::json& document);
std::string study_markdown(const nlohmann::json& document);
/// One self-contained page.
std::string study_html(const nlohmann::json& document);
/// Writes report.json, report.md, report.html and study.csv. Errors: WorldError when a file cannot be
/// written.
void write_study(const std::string& directory, const nlohmann::json& document);

}  // namespace tandem::validation
