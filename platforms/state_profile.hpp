// Hosts that go down and come up again: the state_file profiles of platform files.
#pragma once

#include <map>
#include <string>

#include "platforms/platform_xml.hpp"

namespace tandem::platforms {

/// The profile of each host that has one, by a state_file attribute or a <trace_connect> of HOST_AVAIL, as a
/// value of the property tandem:lifetime: "states off=3,15 on=5 period=20". Profiles that never turn a host
/// off are left out. Errors: ConfigError naming the profile's file and line.
std::map<std::string, std::string> lifetimes_of_states(const PlatformXml& xml);

/// The text of the platform file without these profiles, so that its hosts stay up in SimGrid. File names in
/// it become relative to `folder`, where the copy will be: SimGrid does not accept absolute ones.
std::string without_host_states(const PlatformXml& xml, const std::string& folder);

}  // namespace tandem::platforms
