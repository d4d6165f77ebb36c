// What results say of a job.
#pragma once

#include <string>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// The facts about a run that are known before it starts; for a measurement, without network and devices.
/// `world`: "simulated" | "smpi" | "measured".
RunInfo describe_run(const Job& job, const std::string& world);

/// The step of each device of a worker by physics.predictor, with its interval; empty: no predictor.
nlohmann::json describe_fitted_steps(const Job& job);

}  // namespace tandem
