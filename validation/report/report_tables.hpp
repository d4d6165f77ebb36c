// The tables of a report, made from its document.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// Figures of one configuration: simulated, measured, error.
Table figures_table(const std::vector<const nlohmann::json*>& figures);
/// Errors over configurations. `tolerance`: above it the mean error of step time is marked.
Table errors_table(const std::vector<const nlohmann::json*>& errors, double tolerance);
/// One row per configuration; a failed one has only its name and set.
Table overview_table(const nlohmann::json& document);
/// Which phase, rank and link the error of step time comes from.
Table attribution_table(const nlohmann::json& attribution);
/// Figures of the whole run.
Table metrics_table(const nlohmann::json& configuration);
/// Shares of time and bytes of single workers.
Table workers_table(const nlohmann::json& ranks);
/// The ranking of the variants of one group.
Table group_table(const nlohmann::json& group);
/// One row per group, the largest regret first.
Table groups_table(const nlohmann::json& groups);
/// For a terminal: step time and throughput of each configuration, with its phases if `phases`.
Table main_figures(const nlohmann::json& document, bool phases);

}  // namespace tandem::validation
