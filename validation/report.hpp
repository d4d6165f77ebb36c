// The report of a validation: one JSON document, and pages made from nothing but that document. Writes files,
// opens no network connection, and what it writes does not either.
//
// report.json, schema version 1 (times in seconds, errors as ratios; null: not known):
//   schema_version, title, verdict (a sentence), passed, tolerance, mape, bias
//   worst            {variant, error} of step time
//   ranking          {spearman, same_order, same_best, largest_swapped_gap, regret,
//                     variants: [{name, simulated_throughput, measured_throughput, simulated_place,
//                     measured_place}]}
//   variants         [{name, repetitions, warmup_steps, unmatched_steps, late_devices (of all repetitions),
//                      core_wait_share (longest that a rank stood ready without a core, of the makespan),
//                      gates: {operations, decisions, replay}: each {state, checked, detail},
//                      figures: [{key, name, unit, rank (-1: all), simulated, measured, error,
//                                 contribution (of a phase to the error of step time),
//                                 interval: [low, high] at 95 %, noise_floor, verdict}],
//                      accuracy: {simulated: curve, measured: [curve, ...]}, curve: [[time_s, accuracy],
//                      ...], timeline: {length_s, ranks_left_out, ranks: [{label, simulated: slices,
//                      measured: slices}]},
//                         slices: [[start_s, duration_s, phase, step], ...], phase indexing `phases`
//                      environment: {simulated, measured}: run.json without its experiment
//                      experiment}]
//   phases           names of the phases of a step
//   commands         how to repeat everything
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "validation/validate.hpp"

namespace tandem::validation {

struct ReportSource {
  std::string title;                  ///< the experiment's name
  std::vector<std::string> commands;  ///< empty: those that the results name
};

/// Pre: `validation` is of these `variants`.
nlohmann::json report_document(const std::vector<VariantResults>& variants, const Validation& validation,
                               const ReportSource& source);

/// For a terminal: per variant and phase simulated, measured and error, then the verdict.
std::string summary_table(const nlohmann::json& document);
std::string report_markdown(const nlohmann::json& document);
/// One self-contained page.
std::string report_html(const nlohmann::json& document);

/// Writes report.json, report.md and report.html. Errors: WorldError when a file cannot be written.
void write_report(const std::string& directory, const nlohmann::json& document);

}  // namespace tandem::validation
