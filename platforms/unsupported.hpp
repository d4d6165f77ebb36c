// Finds elements of a platform file that SimGrid loads but cannot simulate, before SimGrid crashes on them.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform_xml.hpp"

namespace tandem::platforms {

struct Unsupported {
  std::string message;            ///< file, line, element, what was expected and what was found
  bool is_refused = true;         ///< false: the simulation starts, and may end with an error
  bool is_of_some_hosts = false;  ///< only jobs with a rank on one of `hosts` are affected
  std::vector<std::string> hosts = {};
};

/// In the order of the checks: settings, Wi-Fi, profiles. Profiles that cannot be read are left to SimGrid.
///
/// Refused are: models of SimGrid that have no bandwidth of links to scale (ns-3, ptask_L07); Wi-Fi, whose
/// hosts need transmission rates that no platform file gives; profiles with a speed or bandwidth of 0, on
/// which SimGrid 3.32 aborts or waits forever; hosts that are down when the simulation starts.
std::vector<Unsupported> find_unsupported(const PlatformXml& xml);

/// Errors: ConfigError for the first element that prevents the simulation of a job with ranks on `hosts`;
/// errors of PlatformXml.
void check_can_simulate(const std::string& path, const std::vector<std::string>& hosts);

}  // namespace tandem::platforms
