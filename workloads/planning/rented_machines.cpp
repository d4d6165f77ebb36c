#include "workloads/planning/rented_machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "platforms/platform_writer.hpp"
#include "platforms/xml_text.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem::planning {
namespace {

constexpr Seconds inside_latency(2e-6);

KeptMachines::Port port_of(const platforms::Network& network, const std::optional<platforms::Route>& route) {
  if (!route || route->channels.empty()) return {};
  const auto& first = network.channels[static_cast<std::size_t>(route->channels.front())];
  return {first.bandwidth, first.latency};
}

/// Elements in the order that SimGrid asks for.
struct Zone {
  std::string hosts, routers, links, routes;

  void add_link(const std::string& from, const std::string& to, const KeptMachines::Port& port) {
    links += platforms::link_xml("port-" + from, port.rate, port.latency, "SPLITDUPLEX");
    routes += fmt::format(
        "    <route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"port-{0}\" direction=\"UP\"/></route>\n",
        platforms::xml_text(from), platforms::xml_text(to));
  }
  void add_router(const std::string& name) {
    routers += fmt::format("    <router id=\"{}\"/>\n", platforms::xml_text(name));
  }
};

/// Two vCPUs are the threads of one core, and the hosts of a machine share its cores. Attribute `core` of the
/// platform counts instead, unless it is 1, the number of a host without it.
void take_cores_of_offer(platforms::Host& host, const platforms::Description& platform) {
  const auto vcpus = host.properties.find("tandem:vcpus");
  if (host.cores != 1 || vcpus == host.properties.end()) return;
  const auto hosts =
      std::ranges::count(platform.hosts, platforms::machine_of(host),
                         [](const platforms::Host& other) { return platforms::machine_of(other); });
  host.cores = std::max(1, std::atoi(vcpus->second.c_str()) / (2 * static_cast<int>(hosts)));
}

std::string machine_name(int machine) { return fmt::format("machine-{}", machine + 1); }
std::string host_name(const platforms::Offer& offer, int machine, int device) {
  return offer.count == 1 ? machine_name(machine) : fmt::format("{}-{}", machine_name(machine), device + 1);
}

std::string config_text(const std::map<std::string, std::string>& config) {
  if (config.empty()) return "";
  std::string text = "  <config>\n";
  for (const auto& [name, value] : config)
    text += fmt::format("    <prop id=\"{}\" value=\"{}\"/>\n", platforms::xml_text(name),
                        platforms::xml_text(value));
  return text + "  </config>\n";
}

}  // namespace

KeptMachines kept_machines(const std::vector<const LoadedJob*>& ways, PlatformReader& platforms) {
  const LoadedJob& first = *ways.front();
  const auto& workers = first.experiment.placement.workers;
  std::vector<std::string> hosts = {workers.front()};
  if (workers.size() > 1) hosts.push_back(workers.back());
  KeptMachines kept{.hosts = {},
                    .worker = {},
                    .disks = first.platform.host(workers.front()).disks,
                    .config = first.platform.config};
  for (const LoadedJob* way : ways) {
    const Roster roster(way->experiment);
    for (const RankAssignment& rank : roster.assignments()) {
      if (std::ranges::find(hosts, rank.host) != hosts.end() ||
          std::ranges::find(way->experiment.placement.workers, rank.host) !=
              way->experiment.placement.workers.end())
        continue;
      hosts.push_back(rank.host);
      kept.hosts.push_back({first.platform.host(rank.host), {}});
      platforms::Host& host = kept.hosts.back().host;
      take_cores_of_offer(host, first.platform);
      // The file states what the offer says; its name would be looked up again.
      host.properties.erase("offer");
    }
  }
  const platforms::Network network = platforms.network(first.experiment.platform, hosts);
  if (network.routes.empty()) throw ConfigError("plan: no routes are known in " + first.experiment.platform);
  const auto port = [&](std::size_t from, std::size_t to) {
    return port_of(network, network.routes[from * network.hosts.size() + to]);
  };
  const auto number = [&](const std::string& host) {
    return static_cast<std::size_t>(std::ranges::find(network.hosts, host) - network.hosts.begin());
  };
  for (auto& of : kept.hosts) of.port = port(number(of.host.name), number(workers.front()));
  if (hosts.size() > 1) kept.worker = port(number(workers.front()), number(hosts.back()));
  return kept;
}

std::map<std::string, std::string> price_properties(const platforms::Offer& offer) {
  std::map<std::string, std::string> properties = {
      {"price_per_hour", to_text(offer.per_hour)},
      {"billing_step", to_text(offer.billing_step)},
      {"billing_minimum", to_text(offer.billing_minimum)},
      {"free_if_revoked_within", to_text(offer.free_if_revoked_within)},
      {"tandem:price_date", offer.date},
      {"tandem:region", offer.region}};
  if (!offer.zone.empty()) properties["tandem:zone"] = offer.zone;
  return properties;
}

platforms::Host rented_host(const platforms::Offer& offer, const std::string& name,
                            const std::string& machine, const KeptMachines& kept) {
  platforms::Host host;
  host.name = name;
  host.speed = platforms::find_device(offer.device).speed;
  host.disks = kept.disks;
  host.properties = price_properties(offer);
  host.properties["device"] = offer.device;
  host.properties["tandem:machine"] = machine;
  return host;
}

std::vector<std::string> RentedMachines::hosts() const {
  std::vector<std::string> names;
  for (int machine = 0; machine < machines; ++machine)
    for (int device = 0; device < offer->count; ++device) names.push_back(host_name(*offer, machine, device));
  return names;
}

BytesPerSecond rate_inside(const std::string& device) {
  // Half of the sum of both directions in NVIDIA's data sheets.
  if (device.find("sxm") != std::string::npos || device.starts_with("b200"))
    for (const auto& [name, rate] :
         {std::pair("v100", 150e9), {"a100", 300e9}, {"h100", 450e9}, {"h200", 450e9}, {"b200", 900e9}})
      if (device.starts_with(name)) return BytesPerSecond(rate);
  return BytesPerSecond(16e9);
}

std::string rented_platform(const RentedMachines& rented, const KeptMachines& kept) {
  const platforms::Offer& offer = *rented.offer;
  const std::string centre = "switch";
  Zone zone;
  zone.add_router(centre);
  for (const auto& [host, port] : kept.hosts) {
    zone.hosts += platforms::host_xml(host);
    zone.add_link(host.name, centre, port);
  }
  for (int machine = 0; machine < rented.machines; ++machine) {
    const std::string name = machine_name(machine);
    const KeptMachines::Port outside{rented.network, kept.worker.latency};
    if (offer.count > 1) {
      zone.add_router(name);
      zone.add_link(name, centre, outside);
    }
    for (int device = 0; device < offer.count; ++device) {
      const std::string host = host_name(offer, machine, device);
      zone.hosts += platforms::host_xml(rented_host(offer, host, name, kept));
      if (offer.count > 1)
        zone.add_link(host, name, {rate_inside(offer.device), inside_latency});
      else
        zone.add_link(host, centre, outside);
    }
  }
  return platforms::platform_xml(
      fmt::format("{} x {}, written by tandem plan", rented.machines, offer.name()), config_text(kept.config),
      "rented", kept.hosts.size() + rented.hosts().size(),
      zone.hosts + zone.routers + zone.links + zone.routes);
}

}  // namespace tandem::planning
