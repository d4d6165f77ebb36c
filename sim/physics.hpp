// The flags of SimGrid that shape simulated times: what Tandem sets unless the platform file sets it, and a
// report of what is in effect.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/cost/profile.hpp"

namespace tandem::sim {

/// Flags of the file's own <config>. Errors: ConfigError when the file is missing or not XML.
std::map<std::string, std::string> platform_config(const std::string& platform_file);

/// Sets Tandem's defaults, except for the flags in `own`. Up to 32 ranks the network is solved anew at every
/// event: SimGrid 3.32's lazy solver lets messages that start together exceed a link until the next event (2
/// % of a step in a mixed lab), but beyond that the exact one costs too much. Pre: an engine exists, no
/// platform was loaded yet: SimGrid lets the first who sets a flag win.
void set_physics(const std::map<std::string, std::string>& own, std::size_t ranks);

/// The flags in effect, and who set each.
nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::Path>& paths, Bytes eager_limit);

}  // namespace tandem::sim
