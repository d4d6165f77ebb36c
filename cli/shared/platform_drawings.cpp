#include "cli/shared/platform_drawings.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/platform_binding.hpp"
#include "validation/report/platform_drawing.hpp"

namespace tandem::cli {
namespace {

using validation::DrawnPlatform;
using validation::PlatformParts;

/// More hosts have too many routes; equal ones are drawn as one.
constexpr std::size_t most_hosts = 128;
constexpr std::size_t most_platforms = 4;

/// Roles by host, in the order of the ranks.
using Hosts = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_ranks(const validation::PlatformUse& use, Hosts& hosts) {
  for (std::size_t rank = 0; rank < use.hosts.size(); ++rank) {
    const std::string &name = use.hosts[rank], &role = use.roles.at(rank);
    auto found = std::ranges::find(hosts, name, &Hosts::value_type::first);
    if (found == hosts.end()) found = hosts.insert(hosts.end(), {name, {}});
    if (std::ranges::find(found->second, role) == found->second.end()) found->second.push_back(role);
  }
}

/// How the jobs of a report use a platform.
struct Use {
  Hosts hosts;
  Precision precision = Precision::fp32;  ///< of the first job
};

PlatformParts::Host part_of(const platforms::Host& host, const std::vector<std::string>& roles,
                            Precision precision, double stands_for) {
  return {.name = host.name,
          .device = host.device.name,
          .flops_per_s = host.device.speed_for(precision).count(),
          .precision = host.device.precision_of_speed_for(precision),
          .roles = roles,
          .stands_for = stands_for};
}

/// The median bandwidth of the known routes from each host.
std::vector<BytesPerSecond> usual_bandwidths(const std::string& path, const Use& use) {
  std::vector<std::string> names;
  for (const auto& [name, roles] : use.hosts) names.push_back(name);
  const auto topology = platforms::load_topology(path, {.hosts = names});
  std::vector<std::vector<BytesPerSecond>> all(names.size());
  for (const auto& [pair, route] : topology.routes())
    if (const auto [from, to] = pair; route)
      all[static_cast<std::size_t>(from)].push_back(
          topology
              .between(topology.hosts()[static_cast<std::size_t>(from)],
                       topology.hosts()[static_cast<std::size_t>(to)])
              ->bandwidth);
  std::vector<BytesPerSecond> medians;
  for (auto& own : all) {
    std::ranges::sort(own);
    medians.push_back(own.empty() ? BytesPerSecond(0.0) : own[own.size() / 2]);
  }
  return medians;
}

/// For how many hosts of its kind each one is drawn; 0: not at all. Of many hosts some with other ranks than
/// workers, the slowest and those with the slowest connections come first; others at equal distances.
std::vector<double> weights_of(const std::string& path, const platforms::Description& description,
                               const Use& use) {
  std::vector<double> weights(use.hosts.size(), use.hosts.size() <= most_hosts ? 1.0 : 0.0);
  if (use.hosts.size() <= most_hosts) return weights;
  const auto bandwidths = usual_bandwidths(path, use);
  std::vector<std::size_t> others(weights.size());
  std::iota(others.begin(), others.end(), 0U);
  constexpr std::size_t quarter = most_hosts / 4;
  const auto take_quarter = [&](const auto& key) {
    std::ranges::stable_sort(others, {}, key);
    for (std::size_t i = 0; i < quarter; ++i) weights[others[i]] = 1.0;
    others.erase(others.begin(), others.begin() + quarter);
  };
  take_quarter([&](std::size_t host) {
    const auto& roles = use.hosts[host].second;
    return roles.empty() || roles == std::vector<std::string>{"worker"};
  });
  take_quarter([&](std::size_t host) {
    return description.host(use.hosts[host].first).device.speed_for(use.precision);
  });
  take_quarter([&](std::size_t host) { return bandwidths[host]; });
  std::ranges::sort(others);
  for (std::size_t i = 0; i < quarter; ++i)
    weights[others[i * others.size() / quarter]] = static_cast<double>(others.size()) / quarter;
  return weights;
}

std::vector<PlatformParts::Route> routes_of(const std::string& path, const std::vector<std::string>& hosts) {
  std::vector<PlatformParts::Route> routes;
  const auto topology = platforms::load_topology(path, {.hosts = hosts});
  for (const auto& from : hosts)
    for (const auto& to : hosts) {
      if (from == to) continue;
      const auto route = topology.between(from, to);
      if (!route) continue;
      std::vector<std::string> crossed;
      for (const auto& channel : route->channels) crossed.push_back(platforms::link_of(channel));
      routes.push_back({from, to, std::move(crossed)});
    }
  return routes;
}

DrawnPlatform drawing_of_use(const std::string& path, const platforms::Description& description,
                             const Use& use) {
  std::vector<std::string> names;
  PlatformParts parts{.name = std::filesystem::path(path).filename().string()};
  const auto weights = weights_of(path, description, use);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0.0) continue;
    const auto& [name, roles] = use.hosts[i];
    names.push_back(name);
    parts.hosts.push_back(part_of(description.host(name), roles, use.precision, weights[i]));
  }
  parts.hosts_left_out = use.hosts.size() - names.size();
  parts.routes = routes_of(path, names);
  std::set<std::string> crossed;
  for (const auto& route : parts.routes) crossed.insert(route.links.begin(), route.links.end());
  for (const auto& link : description.links)
    if (crossed.contains(link.name))
      parts.links.push_back({.name = link.name,
                             .bytes_per_s = link.bandwidth.count(),
                             .latency_s = link.latency.count(),
                             .sharing = link.sharing});
  parts.binds = validation::what_binds(parts);
  return validation::platform_drawing(parts);
}

}  // namespace

DrawnPlatform drawing_of(const std::string& path) {
  Use use;
  const auto description = platforms::load_platform(path);
  for (const auto& host : description.hosts) use.hosts.push_back({host.name, {}});
  return drawing_of_use(path, description, use);
}

std::vector<DrawnPlatform> drawings_of(const std::vector<validation::PlatformUse>& uses) {
  std::vector<std::string> order;
  std::map<std::string, Use> used;
  for (const auto& use : uses) {
    if (!used.contains(use.path)) {
      order.push_back(use.path);
      used[use.path].precision = use.precision;
    }
    add_ranks(use, used[use.path].hosts);
  }
  std::vector<DrawnPlatform> drawings;
  for (const auto& path : order) {
    if (drawings.size() == most_platforms) break;
    if (!std::filesystem::exists(path)) continue;
    try {
      drawings.push_back(drawing_of_use(path, platforms::load_platform(path), used.at(path)));
    } catch (const ConfigError&) {
      // The file has changed since the runs; the report does without a drawing.
    }
  }
  return drawings;
}

}  // namespace tandem::cli
