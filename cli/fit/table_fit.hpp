// `tandem fit network` and `tandem fit server`: numbers of the network, or of servers, and the computing
// times of models, from a table of measured step times and the closed forms of its jobs.
#pragma once

#include <string>

#include "cli/fit/job_times.hpp"
#include "cli/shared/job_options.hpp"

namespace tandem::cli {

struct TableFitOptions {
  std::string table;
  JobOptions job;  ///< `out`: a copy of the platform file with what was found; empty: none
  JobTimes::Setting times;
  double confidence = 0.95;
};

/// Prints the numbers with intervals, what the table does not determine, each row's error and the rows that
/// are far off. Errors: ConfigError.
void fit_table(const TableFitOptions& options);

}  // namespace tandem::cli
