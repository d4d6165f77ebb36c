#include "validation/report/platform_binding.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace tandem::validation {
namespace {

using Roles = std::set<std::string>;

constexpr double rounding = 1e-9;

/// Whether messages with gradients or samples pass between hosts of these roles.
class BulkPartners {
 public:
  explicit BulkPartners(const PlatformParts& platform) {
    for (const auto& host : platform.hosts) {
      all_.insert(host.roles.begin(), host.roles.end());
      roles_.emplace(host.name, Roles(host.roles.begin(), host.roles.end()));
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

/// The routes over a link, of the hosts and of those that they represent.
struct Routed {
  double routes = 0;
  std::set<std::string> in_all;  ///< hosts that each of them begins or ends at
};

std::map<std::string, Routed> uses_of_links(const PlatformParts& platform, const BulkPartners& partners,
                                            const std::map<std::string, double>& weights) {
  std::map<std::string, Routed> uses;
  for (const auto& [from, to, links] : platform.routes) {
    if (!partners.between(from, to)) continue;
    for (const std::string& link : links) {
      Routed& use = uses[link];
      if (use.routes == 0) use.in_all = {from, to};
      std::erase_if(use.in_all,
                    [&from = from, &to = to](const std::string& host) { return host != from && host != to; });
      use.routes += weights.at(from) * weights.at(to);
    }
  }
  return uses;
}

std::vector<std::string> busiest_links(const PlatformParts& platform) {
  std::map<std::string, double> weights, loads;
  for (const auto& host : platform.hosts) weights.emplace(host.name, host.stands_for);
  const BulkPartners partners(platform);
  const auto uses = uses_of_links(platform, partners, weights);
  double most = 0;
  for (const auto& link : platform.links) {
    const auto use = uses.find(link.name);
    if (use == uses.end()) continue;
    double routes = use->second.routes;
    const auto& ends = use->second.in_all;
    for (const auto& host : ends) routes /= weights.at(host);
    // The hosts that the owner of a link represents are its partners, too: there and back.
    if (ends.size() == 1 && partners.between(*ends.begin(), *ends.begin()))
      routes += 2 * (weights.at(*ends.begin()) - 1);
    const double load = loads[use->first] = routes_at_once(link.sharing, routes) / link.bytes_per_s;
    most = std::max(most, load);
  }
  std::vector<std::string> names;
  for (const auto& [link, load] : loads)
    if (load >= most * (1.0 - rounding)) names.push_back(link);
  if (names.size() == loads.size() && names.size() > 1) names.clear();
  return names;
}

std::vector<std::string> slowest_hosts(const PlatformParts& platform) {
  std::multimap<double, std::string> speeds;
  for (const auto& host : platform.hosts)
    if (std::ranges::find(host.roles, "worker") != host.roles.end())
      speeds.emplace(host.flops_per_s, host.name);
  std::vector<std::string> names;
  if (speeds.empty() || speeds.rbegin()->first <= speeds.begin()->first * (1.0 + rounding)) return names;
  for (const auto& [speed, name] : speeds)
    if (speed <= speeds.begin()->first * (1.0 + rounding)) names.push_back(name);
  return names;
}

}  // namespace

PlatformBinding what_binds(const PlatformParts& platform) {
  return {.links = busiest_links(platform), .hosts = slowest_hosts(platform)};
}

}  // namespace tandem::validation
