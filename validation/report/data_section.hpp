// How samples reached the workers of jobs with cache nodes, in reports: what documents say of it, and tables.
// Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// Epochs that a page draws; summary.json has all.
inline constexpr std::size_t most_epochs = 60;

/// What charts show of one run, from `data` of its summary.json: [{epoch, time_s, classes}, ...]. Null for
/// jobs without cache nodes.
nlohmann::json data_epochs(const nlohmann::json& summary);

/// What a report says of a configuration: {simulated: {cold, warm}, measured: the same}, as in summary.json.
/// Null for jobs without cache nodes, and for results that say nothing of it.
nlohmann::json data_of_worlds(const nlohmann::json& simulated, const nlohmann::json& measured);

/// The same of a single result: {cold, warm}.
nlohmann::json data_of_result(const nlohmann::json& summary);

/// One row per configuration and part (cold, warm); empty: no configuration has cache nodes.
Table data_table(const nlohmann::json& document);
/// Why Belady's bound is not known, in a sentence for each reason.
std::vector<std::string> missing_optima(const nlohmann::json& document);
/// One row per class and part, of a configuration with data_of_worlds().
Table classes_table(const nlohmann::json& data);
/// The same of a single result.
Table classes_of_result(const nlohmann::json& data);
/// Of a study: one row per configuration and part, with the share of the requests by class; empty: no
/// configuration has cache nodes. `configurations`: of its document, those with figures.
Table classes_of_study(const std::vector<const nlohmann::json*>& configurations);

/// A section with data_table(); nothing without cache nodes.
void add_data(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation
