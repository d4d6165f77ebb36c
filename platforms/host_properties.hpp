// Changes properties of hosts in the text of a platform file and leaves the rest of the text as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tandem::platforms {

/// The text of the platform file `path`, with new properties in the elements <host> of `hosts`. Properties
/// with a name in `replaced` are removed from these elements first. Errors: ConfigError when the file has no
/// such element, for example because a cluster declares the host.
std::string with_host_properties(const std::string& path, const std::vector<std::string>& hosts,
                                 const std::map<std::string, std::string>& properties,
                                 const std::vector<std::string>& replaced);

}  // namespace tandem::platforms
