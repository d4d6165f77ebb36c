#include "platforms/description.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {
namespace {

bool alike(const Device& a, const Device& b) {
  return a.name == b.name && a.speed == b.speed && a.memory_rate == b.memory_rate && a.launch == b.launch &&
         a.is_gpu == b.is_gpu;
}

}  // namespace

bool alike(const Host& a, const Host& b) {
  return a.speed == b.speed && a.cores == b.cores && a.gpu == b.gpu && a.disks.empty() && b.disks.empty() &&
         a.properties == b.properties && alike(a.device, b.device);
}

bool alike(const Link& a, const Link& b) {
  return a.bandwidth == b.bandwidth && a.latency == b.latency && a.sharing == b.sharing;
}

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
