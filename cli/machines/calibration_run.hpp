// Calibration, for `tandem calibrate` and `tandem validate`.
#pragma once

#include <string>
#include <vector>

#include "cli/machines/machine_use.hpp"
#include "cli/shared/job_options.hpp"
#include "workloads/calibration/calibration.hpp"

namespace tandem::cli {

/// Where the ranks of a calibration run.
struct CalibrationPlace {
  std::string cluster = {};  ///< platform file of the emulated cluster; empty: none
  MachineOptions machines = {};
  /// All-reduces to measure in addition to those of the job: of other jobs that will use the profile.
  std::vector<AllReduceSeries> all_reduces = {};
};

/// The all-reduces of a job. Errors: ConfigError.
std::vector<AllReduceSeries> all_reduces_of(const JobOptions& options);

/// Starts the ranks that measure, and writes the profile. Repeats the measurement once if other programs used
/// the machine. Returns an exit code; errors were printed.
int run_calibration(const JobOptions& options, const std::string& profile_path,
                    const CalibrationPlace& place = {});

/// Writes the input of the ranks into PROFILE.work and returns the command line that starts them, on another
/// machine or in a batch system. The ranks then write the profile to `profile_path`. Errors: ConfigError;
/// also when the cluster is not up.
std::string prepare_calibration(const JobOptions& options, const std::string& profile_path,
                                const CalibrationPlace& place = {});

}  // namespace tandem::cli
