// Calibration as `tandem calibrate` and `tandem validate` both do it.
#pragma once

#include <string>

#include "cli/job_options.hpp"

namespace tandem::cli {

/// Starts the ranks that measure, and writes the profile. `cluster`: platform file of the emulated cluster to
/// measure on; empty: this machine. Measures again, once, when other programs were busy meanwhile.
/// Returns an exit code; what went wrong was printed.
int run_calibration(const JobOptions& options, const std::string& profile_path,
                    const std::string& cluster = {});

/// Writes what the ranks need into PROFILE.work and returns the command line that starts them: for another
/// machine, or a batch system. The profile is then where the ranks ran, under `profile_path`.
/// Errors: ConfigError; also when the cluster is not up.
std::string prepare_calibration(const JobOptions& options, const std::string& profile_path,
                                const std::string& cluster = {});

}  // namespace tandem::cli
