// For `study.stall`: simulates a job with several cache capacities to find the least one that suffices.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/job_options.hpp"
#include "cli/simulation.hpp"

namespace tandem::cli {

/// {stall (the limit), capacity_bytes (null: none suffices), data_set_bytes, step_bytes, tried:
/// [[capacity_bytes, stall], ...]}. Null for jobs without cache nodes. Each simulation is a process of its
/// own, with files in the folder `out` meanwhile. Pre: this process has not simulated. Errors: ConfigError
/// for jobs without warm epochs; as simulate_job().
nlohmann::json least_capacity(const LoadedJob& loaded, const SimulateOptions& options, const std::string& out,
                              double stall);

}  // namespace tandem::cli
