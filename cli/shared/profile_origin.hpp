// The origin of a calibration profile, in the form that validation needs.
#pragma once

#include <string>

#include "validation/campaign/hold_out.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem::cli {

/// Errors: ConfigError as load_profile().
inline validation::ProfileOrigin origin_of(const std::string& path) {
  const Profile profile = load_profile(path);
  return {path, profile.date, profile.command};
}

}  // namespace tandem::cli
