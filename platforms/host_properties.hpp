// Changes properties of hosts, and rates of links, in the text of a platform file and leaves the rest of the
// text as it is.
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

/// Texts as SimGrid reads them: "125MBps", "50us".
struct LinkRates {
  std::string bandwidth;
  std::string latency;
};
/// The text of the platform file `path`, with these attributes of the elements <link>, by id. Errors:
/// ConfigError when the file has no such element, for example because a cluster declares the link.
std::string with_link_rates(const std::string& path, const std::map<std::string, LinkRates>& links);

}  // namespace tandem::platforms
