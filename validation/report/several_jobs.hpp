// Several jobs that shared a platform, in the reports of validations and of studies: what documents say of
// them, and tables. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "validation/compare/several_jobs.hpp"
#include "validation/report/page.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {

// ---- Validations ----

/// {name, jobs: [{job, configuration (that has its figures), start_s}], figures: [{key, name, unit,
/// simulated, measured, error, noise_floor}, ...] of all jobs}
nlohmann::json several_jobs_document(const SeveralJobs& jobs);

/// One row per job that was compared, simulated / measured, with errors.
Table jobs_table(const nlohmann::json& document);
/// One row per figure of all jobs of a configuration.
Table all_jobs_table(const nlohmann::json& document);
/// A section with both; nothing without several jobs.
void add_several_jobs(const nlohmann::json& document, Page& page);

// ---- Studies ----

/// As study_configuration, of one of several jobs: with `job`, `start_s`, and `alone_makespan_s` and
/// `slow_down` (null: it was not simulated alone). `all`: the summary of all jobs.
nlohmann::json study_job(const StudyConfiguration& configuration, const std::string& job,
                         const nlohmann::json& all, const nlohmann::json& summary, const nlohmann::json& run,
                         const nlohmann::json& binding);
/// {jobs: [{job, start_s}, ...], makespan_s, jain_index, slow_down: {min, max}, shared_cache: as in the
/// summary of all jobs}; null: there is none. `all`: that summary.
nlohmann::json study_several_jobs(const nlohmann::json& all);

/// One row per job that was simulated, without columns that have no value.
Table study_jobs_table(const nlohmann::json& document);
/// One row per configuration of several jobs.
Table study_all_jobs_table(const nlohmann::json& document);
/// A section with both; nothing without several jobs.
void add_jobs_of_study(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation
