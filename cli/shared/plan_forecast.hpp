// The forecast of a plan for the job that it wrote, in the plan's folder. Whatever runs that job prints it
// with what was paid.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/shared/job_options.hpp"
#include "validation/compare/bills.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {

/// The key `forecast` of plan.json. `folder`: with the experiment and the platform that the plan has written.
/// Errors: ConfigError when they cannot be read.
nlohmann::json forecast_document(const std::string& folder, const validation::Forecast& forecast);

/// None where no plan wrote the experiment, where a job is resumed, and, with a note, where the experiment
/// differs from the planned one in more than its seed and how it is simulated or run. Errors: ConfigError for
/// a plan.json that cannot be read.
std::optional<validation::Forecast> forecast_of(const JobOptions& options, const Experiment& experiment);

/// {"time_s": {"mean", "low", "high"}, "cost": ...}
nlohmann::json to_json(const validation::Forecast& forecast);

/// None where the run has no bill.
std::optional<validation::PaidRun> paid_run(const validation::Forecast& forecast, const Summary& summary);

}  // namespace tandem::cli
