// The flags of SimGrid that shape simulated times: what Tandem sets unless the platform file sets it, a
// measured network, and a report of what is in effect.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "workloads/profile.hpp"

namespace tandem::sim {

/// Flags of the file's own <config>. Errors: ConfigError when the file is missing or not XML.
std::map<std::string, std::string> platform_config(const std::string& platform_file);

/// Sets Tandem's defaults, except for the flags in `own`. Up to 32 ranks the network is solved anew at every
/// event: SimGrid 3.32's lazy solver lets messages that start together exceed a link until the next event (2
/// % of a step in a mixed lab), but beyond that the exact one costs too much. Pre: an engine exists, no
/// platform was loaded yet: SimGrid lets the first who sets a flag win.
void set_physics(const std::map<std::string, std::string>& own, std::size_t ranks);

/// Makes a message take alpha + size * beta of its segment when it is alone; concurrent messages share links
/// as before. A way of the platform takes the measured path that is most like it: by the bandwidth of the
/// narrowest link (the share of it that messages reach carries over), then by the number of links; a path
/// without links holds within a host, and everywhere when there is no other. Within a host the platform's
/// loopback holds when no such path was measured. Pre: the platform is loaded. Errors: ConfigError when
/// segments are not sorted or start above 0, when the platform sets factors of its own, or (while running)
/// when a route has no latency. With a seed, each message takes as much longer or shorter as one of the
/// measured messages of the next larger size did.
void set_measured_network(const std::vector<Profile::Path>& paths,
                          const std::optional<std::uint64_t>& noise_seed = std::nullopt);

/// The flags in effect, and who set each.
nlohmann::json report_physics(const std::map<std::string, std::string>& own,
                              const std::vector<Profile::Path>& paths, Bytes eager_limit);

}  // namespace tandem::sim
