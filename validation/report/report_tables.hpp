// The tables of a report.
#pragma once

#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

/// Figures of one configuration: simulated, measured, error.
Table figures_table(const std::vector<ReportFigure>& figures);
/// Errors over configurations. Mean errors of step time above `tolerance` are marked.
Table errors_table(const std::vector<ErrorSummary>& errors, double tolerance);
/// One row per configuration; a failed one has only its name and set.
Table overview_table(const Report& report);
/// The phases, ranks and links from which the error of step time comes.
Table attribution_table(const ReportAttribution& attribution);
/// Figures of the whole run.
Table metrics_table(const ReportConfiguration& configuration);
/// Shares of time and bytes of single workers.
Table workers_table(const ShownRanks& ranks);
/// The ranking of the variants of one group.
Table group_table(const Ranking& group);
/// One row per group, the largest regret first.
Table groups_table(const std::vector<Ranking>& groups);
/// For a terminal: step time and throughput of each configuration, with its phases if `phases`.
Table main_figures(const Report& report, bool phases);

}  // namespace tandem::validation
