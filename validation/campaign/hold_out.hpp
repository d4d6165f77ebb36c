// Checks that a profile was not calibrated with the runs that are compared: compares its origin with the
// runs. Reads records only.
#pragma once

#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// Where a calibration profile comes from.
struct ProfileOrigin {
  std::string path;     ///< of the profile's file
  std::string date;     ///< when it was measured, ISO 8601 in UTC
  std::string command;  ///< the command that measured it
};

/// Rejects a profile that may have used the runs: it was measured after one of them began, is in a run's
/// result directory, or was measured by a command that names a run. Errors: ConfigError that says which.
void check_hold_out(const ProfileOrigin& profile, const std::vector<Results>& measured);
/// The part of this check that needs no results. Takes the directories to which the runs will be written.
void check_apart(const ProfileOrigin& profile, const std::vector<std::string>& run_directories);

}  // namespace tandem::validation
