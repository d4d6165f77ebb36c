// The launches of jobs that started again, in reports: when ranks were launched, and how long they took to
// get ready. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "validation/report/page.hpp"

namespace tandem::validation {

/// What a timeline draws: [[number, launched_s, began_s], ...] of the launches after the first one; those
/// whose ranks never were ready end as the next one begins, or with the job. `generations`: of run.json.
nlohmann::json launch_spans(const nlohmann::json& generations, double end_s);

/// Each launch of one result. `generations`: of run.json.
Table launches_table(const nlohmann::json& generations);
/// Each launch of a configuration, simulated and measured. No rows: it did not start again.
Table launches_of_configuration(const nlohmann::json& configuration);
/// One row per configuration that started again: number of launches, and how long they took.
Table launches_overview(const nlohmann::json& document);
/// A section with launches_overview() and what its columns mean; nothing without launches.
void add_launches(const nlohmann::json& document, Page& page);

}  // namespace tandem::validation
