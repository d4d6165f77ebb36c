#include "validation/report/platform_binding.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace tandem::validation {
namespace {

using nlohmann::json;
using Roles = std::set<std::string>;

constexpr double rounding = 1e-9;

/// Whether messages with gradients or samples pass between hosts of these roles.
class Exchanges {
 public:
  explicit Exchanges(const json& platform) {
    for (const auto& host : platform.at("hosts")) {
      const Roles roles = host.at("roles").get<Roles>();
      all_.insert(roles.begin(), roles.end());
      roles_.emplace(host.at("name"), roles);
    }
    partners_.emplace("worker", all_.contains("server") ? "server" : "worker");
    partners_.emplace("worker", "cache-node");
    partners_.emplace(all_.contains("cache-node") ? "cache-node" : "worker", "store");
  }

  bool between(const std::string& from, const std::string& to) const {
    if (all_.empty()) return true;
    const Roles &one = roles_.at(from), &other = roles_.at(to);
    return std::ranges::any_of(partners_, [&](const auto& pair) {
      return (one.contains(pair.first) && other.contains(pair.second)) ||
             (other.contains(pair.first) && one.contains(pair.second));
    });
  }

 private:
  Roles all_;
  std::map<std::string, Roles> roles_;
  std::set<std::pair<std::string, std::string>> partners_;
};

/// Those that share the bandwidth, of all routes over a link in both directions.
double routes_at_once(const std::string& sharing, double routes) {
  return sharing == "FATPIPE" ? 1.0 : sharing == "SPLITDUPLEX" ? routes / 2 : routes;
}

json busiest_links(const json& platform) {
  const Exchanges exchanges(platform);
  std::map<std::string, double> uses, loads;
  for (const auto& route : platform.at("routes"))
    if (exchanges.between(route.at("from"), route.at("to")))
      for (const auto& link : route.at("links")) ++uses[link];
  double most = 0;
  for (const auto& link : platform.at("links"))
    if (const auto used = uses.find(link.at("name")); used != uses.end()) {
      const double bandwidth = link.at("bytes_per_s");
      const double load = loads[used->first] =
          routes_at_once(link.value("sharing", "SHARED"), used->second) / bandwidth;
      most = std::max(most, load);
    }
  json names = json::array();
  for (const auto& [link, load] : loads)
    if (load >= most * (1.0 - rounding)) names.push_back(link);
  return names.size() == loads.size() && names.size() > 1 ? json::array() : names;
}

json slowest_hosts(const json& platform) {
  std::multimap<double, std::string> speeds;
  for (const auto& host : platform.at("hosts"))
    if (host.at("roles").get<Roles>().contains("worker"))
      speeds.emplace(host.at("flops_per_s"), host.at("name"));
  json names = json::array();
  if (speeds.empty() || speeds.rbegin()->first <= speeds.begin()->first * (1.0 + rounding)) return names;
  for (const auto& [speed, name] : speeds)
    if (speed <= speeds.begin()->first * (1.0 + rounding)) names.push_back(name);
  return names;
}

}  // namespace

json what_binds(const json& platform) {
  return {{"links", busiest_links(platform)}, {"hosts", slowest_hosts(platform)}};
}

}  // namespace tandem::validation
