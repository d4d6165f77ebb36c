// The simulation of a job in closed form: the time of a round from prices and links, and the life of the job
// from its machines.
#pragma once

#include <string>
#include <vector>

#include "cli/jobs/simulation.hpp"

namespace tandem::cli {

inline constexpr const char* priced_fidelity = "priced";

/// Adds --fidelity with these values.
void add_fidelity_option(CLI::App& command, std::string& fidelity, const std::vector<std::string>& values);

/// simulate_job() with --fidelity priced. Errors: the same, and ConfigError for a job without a closed form.
Simulated simulate_priced(LoadedJob loaded, const SimulateOptions& options, const std::string& out);

}  // namespace tandem::cli
