// Changes properties of hosts in the text of a platform file and leaves the rest of the text as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tandem::platforms {

/// The text of the platform file `path` with these properties in the elements <host> of `hosts`, instead of
/// all that the elements have of the names in `replaced`. Errors: ConfigError when the file has no such
/// element, because a cluster declares the host, for example.
std::string with_host_properties(const std::string& path, const std::vector<std::string>& hosts,
                                 const std::map<std::string, std::string>& properties,
                                 const std::vector<std::string>& replaced);

}  // namespace tandem::platforms
