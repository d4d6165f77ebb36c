#include "platforms/description.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {

const Host& Description::host(const std::string& name) const {
  const auto found = std::find_if(hosts.begin(), hosts.end(), [&](const Host& h) { return h.name == name; });
  if (found != hosts.end()) return *found;
  std::vector<std::string> names;
  for (const auto& candidate : hosts) names.push_back(candidate.name);
  std::string message = file + ": no host named '" + name + "'";
  if (const auto nearest = nearest_name(name, names); !nearest.empty())
    message += "; did you mean '" + nearest + "'?";
  throw ConfigError(message);
}

}  // namespace tandem::platforms
