// What results say of a job.
#pragma once

#include <string>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// What is known of a run before it starts; for a measurement, without network and devices. `world`:
/// "simulated" | "smpi" | "measured".
RunInfo describe_run(const Job& job, const std::string& world);

}  // namespace tandem
