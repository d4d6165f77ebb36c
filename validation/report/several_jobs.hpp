// Reports of several jobs on one platform, in validations and studies: data and tables. Pure.
#pragma once

#include <string>

#include "validation/compare/several_jobs.hpp"
#include "validation/report/page.hpp"
#include "validation/report/report.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {

// ---- Validations ----

ReportJobs report_jobs(const SeveralJobs& jobs);

/// One row per job that was compared, simulated / measured, with errors.
Table jobs_table(const Report& report);
/// One row per figure of all jobs of a configuration.
Table all_jobs_table(const Report& report);
/// A section with both; nothing without several jobs.
void add_several_jobs(const Report& report, Page& page);

// ---- Studies ----

/// One of several jobs. Pre: `all` has it.
StudyResult study_job(const StudyConfiguration& configuration, const std::string& job, const JobsSummary& all,
                      const Summary& summary, const RunInfo& run, const std::optional<Binding>& binding);
/// All jobs together, without the names that the study gives.
StudyJobs study_jobs(const JobsSummary& all);

/// One row per job that was simulated, without columns that have no value.
Table study_jobs_table(const Study& study);
/// One row per configuration of several jobs.
Table study_all_jobs_table(const Study& study);
/// A section with both; nothing without several jobs.
void add_jobs_of_study(const Study& study, Page& page);

}  // namespace tandem::validation
