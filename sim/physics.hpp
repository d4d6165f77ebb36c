// The flags of SimGrid that shape simulated times: the defaults that Tandem sets unless the platform file
// does, and a report of the flags in effect.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "workloads/cost/profile.hpp"

namespace tandem::sim {

/// Flags of the file's own <config>. Errors: ConfigError when the file is missing or not XML.
std::map<std::string, std::string> platform_config(const std::string& platform_file);

/// Sets Tandem's defaults, except for the flags in `own`. With up to 32 ranks, the network is solved
/// completely at every event, because SimGrid 3.32's lazy solver lets messages that start together exceed a
/// link until the next event (2 % of a step in mixed_lab). With more ranks, the complete solution takes too
/// long. Pre: an engine exists and no platform is loaded yet, because in SimGrid the first setting of a flag
/// wins.
void set_physics(const std::map<std::string, std::string>& own, std::size_t ranks);

/// "SimGrid 3.32": of the library that is loaded.
std::string simulator_version();

/// The flags in effect, and whether Tandem or the platform file set each. `sharing`: how concurrent messages
/// share links, in words.
nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::Path>& paths, Bytes eager_limit,
                              const std::string& sharing);

}  // namespace tandem::sim
