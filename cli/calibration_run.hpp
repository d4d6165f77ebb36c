// Calibration as `tandem calibrate` and `tandem validate` both do it.
#pragma once

#include <string>

#include "cli/job_options.hpp"

namespace tandem::cli {

/// Starts the ranks that measure, and writes the profile. Returns an exit code; what went wrong was printed.
int run_calibration(const JobOptions& options, const std::string& profile_path);

}  // namespace tandem::cli
