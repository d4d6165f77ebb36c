// Reports of jobs that were launched again: data of timelines, and tables. Pure.
#pragma once

#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/report.hpp"

namespace tandem::validation {

/// The launches after the first one, for a timeline. A launch whose ranks never were ready ends when the
/// next one begins, or with the job.
std::vector<LaunchSpan> launch_spans(const std::vector<LaunchRecord>& launches, double end_s);

/// Each launch of one result.
Table launches_table(const std::vector<LaunchRecord>& launches);
/// Each launch of a configuration, simulated and measured. No rows: there was only one.
Table launches_of_configuration(const ReportConfiguration& configuration);
/// One row per configuration that was launched again: number of launches, and how long they took.
Table launches_overview(const Report& report);
/// A section with launches_overview() and what its columns mean; nothing without launches.
void add_launches(const Report& report, Page& page);

}  // namespace tandem::validation
