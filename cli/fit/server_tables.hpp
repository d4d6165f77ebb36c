// `tandem calibrate --server`: fits the costs of a server to measured training speeds of other programs.
#pragma once

#include <string>

#include "cli/shared/job_options.hpp"

namespace tandem::cli {

/// Fits the costs of the servers of the experiment to the table by simulations, up to `parallel`
/// concurrently. Each row has its own model and number of workers. Prints the properties that state the
/// costs, each row's error, and the costs that the table does not determine. `job.out`: a copy of the
/// experiment's platform file with the properties; empty: none. Errors: ConfigError, WorldError,
/// Interrupted.
void fit_server_table(const JobOptions& job, const std::string& table, int parallel);

}  // namespace tandem::cli
