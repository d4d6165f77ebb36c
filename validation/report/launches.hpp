// The launches of jobs that started again, in reports and on pages of results: what a timeline draws, and
// tables. Pure.
#pragma once

#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

/// What a timeline draws of the launches after the first one; those whose ranks never were ready end as the
/// next one begins, or with the job.
std::vector<LaunchSpan> launch_spans(const std::vector<LaunchRecord>& launches, double end_s);

/// Each launch of one result.
Table launches_table(const std::vector<LaunchRecord>& launches);
/// Each launch of a configuration, simulated and measured. No rows: it did not start again.
Table launches_of_configuration(const ReportConfiguration& configuration);
/// One row per configuration that started again: number of launches, and how long they took.
Table launches_overview(const Report& report);
/// A section with launches_overview() and what its columns mean; nothing without launches.
void add_launches(const Report& report, Page& page);

}  // namespace tandem::validation
