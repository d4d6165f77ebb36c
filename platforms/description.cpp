#include "platforms/description.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {

std::string ignored_speed(const Host& host) {
  constexpr double tolerance = 0.01;
  if (!host.properties.contains("device") || (host.device.is_gpu && host.cores > 1)) return {};
  const double stated = host.speed.count() * host.cores, counted = host.device.speed.count();
  if (std::abs(stated - counted) <= tolerance * counted) return {};
  constexpr double giga = 1e-9;
  std::ostringstream text;
  text.precision(6);
  text << "speed " << host.speed.count() * giga << " Gflop/s x " << host.cores
       << (host.cores == 1 ? " core" : " cores") << " is " << stated * giga << " Gflop/s, but the device '"
       << host.device.name << "' computes " << counted * giga
       << " Gflop/s in fp32: the device counts, and the speed is ignored. Change the property "
       << "'device', or remove it, so that the speed counts";
  return text.str();
}

std::string machine_of(const Host& host) {
  const auto stated = host.properties.find("tandem:machine");
  return stated == host.properties.end() ? host.name : stated->second;
}

std::string property_of(const Host& host, const std::string& name) {
  for (const auto& id : {name, "tandem:" + name})
    if (const auto found = host.properties.find(id); found != host.properties.end()) return found->second;
  return "";
}

bool alike(const Host& a, const Host& b) {
  return a.speed == b.speed && a.cores == b.cores && a.gpu == b.gpu && a.disks.empty() && b.disks.empty() &&
         a.properties == b.properties && a.device == b.device;
}

bool alike(const Link& a, const Link& b) {
  return a.bandwidth == b.bandwidth && a.latency == b.latency && a.sharing == b.sharing;
}

bool Device::gives(Precision precision) const {
  return precision == Precision::fp32 || has_one_speed || other_speeds.contains(precision);
}

std::string Device::given_precisions() const {
  std::string names;
  for (const auto& choice : choice_names<Precision>)
    if (gives(choice.value)) names += (names.empty() ? "" : " | ") + to_text(choice.value);
  return names;
}

FlopsPerSecond Device::speed_for(Precision precision) const {
  const auto found = other_speeds.find(precision);
  return found == other_speeds.end() ? speed : found->second;
}

std::string Device::precision_of_speed_for(Precision precision) const {
  if (has_one_speed) return {};
  return to_text(gives(precision) ? precision : Precision::fp32);
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
