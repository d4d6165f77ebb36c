#include "cli/platform_document.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "platforms/load.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/choices.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// More hosts would fill a page.
constexpr std::size_t most_hosts = 16;
constexpr std::size_t most_platforms = 4;

/// Roles by host, in the order of the ranks.
using Hosts = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_ranks(const json& run, Hosts& hosts) {
  const json &names = run.at("hosts"), &roles = run.at("roles");
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const std::string name = names[rank], role = roles[rank];
    auto found = std::ranges::find(hosts, name, &Hosts::value_type::first);
    if (found == hosts.end()) found = hosts.insert(hosts.end(), {name, {}});
    if (std::ranges::find(found->second, role) == found->second.end()) found->second.push_back(role);
  }
}

/// "cable_UP" and "cable_DOWN" are directions of the link "cable".
std::string link_of(std::string channel) {
  for (const std::string direction : {"_UP", "_DOWN"})
    if (channel.ends_with(direction)) channel.resize(channel.size() - direction.size());
  return channel;
}

/// What the jobs of a report use of a platform.
struct Use {
  Hosts hosts;
  Precision precision = Precision::fp32;  ///< of the first job
};

json host_document(const platforms::Host& host, const std::vector<std::string>& roles, Precision precision) {
  return {{"name", host.name},
          {"device", host.device.name},
          {"flops_per_s", host.device.speed_for(precision).count()},
          {"precision", host.device.precision_of_speed_for(precision)},
          {"roles", roles}};
}

json document_of(const std::string& path, const platforms::Description& description, const Use& use) {
  std::vector<std::string> names;
  json hosts = json::array(), links = json::array(), routes = json::array();
  for (const auto& [name, roles] : use.hosts) {
    if (names.size() == most_hosts) break;
    names.push_back(name);
    hosts.push_back(host_document(description.host(name), roles, use.precision));
  }
  for (const auto& link : description.links)
    links.push_back(
        {{"name", link.name}, {"bytes_per_s", link.bandwidth.count()}, {"latency_s", link.latency.count()}});
  const auto topology = platforms::load_topology(path, {.hosts = names});
  for (const auto& from : names)
    for (const auto& to : names) {
      if (from == to) continue;
      const auto route = topology.between(from, to);
      if (!route) continue;
      std::vector<std::string> crossed;
      for (const auto& channel : route->channels) crossed.push_back(link_of(channel));
      routes.push_back({{"from", from}, {"to", to}, {"links", std::move(crossed)}});
    }
  return {{"name", std::filesystem::path(path).filename().string()},
          {"hosts", std::move(hosts)},
          {"hosts_left_out", use.hosts.size() - names.size()},
          {"links", std::move(links)},
          {"routes", std::move(routes)}};
}

}  // namespace

json platform_document(const std::string& path) {
  Use use;
  const auto description = platforms::load_platform(path);
  for (const auto& host : description.hosts) use.hosts.push_back({host.name, {}});
  return document_of(path, description, use);
}

json platforms_of(const json& report) {
  std::vector<std::string> order;
  std::map<std::string, Use> used;
  for (const auto& own : report.at("configurations")) {
    if (own.at("failure") != "") continue;
    const json& environment = own.at("environment");
    const json& experiment = own.at("experiment");
    const std::string path = experiment.at("platform");
    if (!used.contains(path)) {
      order.push_back(path);
      const auto precision = parse_choice<Precision>(experiment.at("workload").value("precision", "fp32"));
      used[path].precision = precision.value_or(Precision::fp32);
    }
    // A validation has the environments of the simulation and of the measurement.
    add_ranks(environment.contains("simulated") ? environment.at("simulated") : environment,
              used[path].hosts);
  }
  json documents = json::array();
  for (const auto& path : order) {
    if (documents.size() == most_platforms) break;
    if (!std::filesystem::exists(path)) continue;
    try {
      documents.push_back(document_of(path, platforms::load_platform(path), used.at(path)));
    } catch (const ConfigError&) {
      // The file has changed since the runs; the report does without a drawing.
    }
  }
  return documents;
}

}  // namespace tandem::cli
