// A page with all result directories below a folder: one table, and two of them side by side. Written from
// the summary.json and run.json of each, and all records of those whose machines may depart.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tandem::validation {

/// All results below `folder`, which may be one itself, by path:
///   {folder, results: [{path (relative), world ("simulated" or "measured"), started, name, algorithm, model,
///    dataset, workers, step_time_s, throughput, makespan_s, time_to_target_s, best_accuracy, rounds,
///    samples, local_steps and staleness (means), bytes_sent_per_sample, shares, departures, lost_samples,
///    members (as members_of_result(); null: no machine may depart), report (path of the report of a folder
///    above it; empty: none)}], skipped: [text, ...]}; null: not known.
/// Directories whose job has not ended, or that cannot be read, are skipped, with the reason.
/// Errors: ConfigError when the folder does not exist or has no result that can be read.
nlohmann::json results_document(const std::string& folder);

/// For a terminal: one row per result.
std::string results_table(const nlohmann::json& document);
/// One self-contained page, to be written into the folder of the results: its links are relative.
std::string results_html(const nlohmann::json& document);

}  // namespace tandem::validation
