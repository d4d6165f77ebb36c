#include "workloads/job/plan/zones.hpp"

#include <map>
#include <string>
#include <utility>

#include "platforms/description_index.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {
namespace {

std::string zone_of(const platforms::Host& host) {
  const auto zone = host.properties.find("tandem:zone");
  return zone == host.properties.end() ? "" : zone->second;
}

}  // namespace

std::vector<std::size_t> zones_of(const Job& job) { return zones_of(job, {}); }

std::vector<std::size_t> zones_of(const Job& job, std::span<const std::string> more) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> zones;
  const Roster roster(whole_experiment(job));
  const platforms::HostIndex hosts(job.spec().platform);
  const auto add = [&](const std::string& host) {
    const std::string name = zone_of(hosts.host(host));
    zones.push_back(numbers.emplace(name, numbers.size()).first->second);
  };
  for (const Rank worker : roster.workers()) add(roster.host_of(worker));
  for (const std::string& host : more) add(host);
  return zones;
}

std::map<std::string, HostPlace> places_of(const Job& job) {
  std::map<std::string, HostPlace> places;
  const Roster roster(whole_experiment(job));
  const platforms::HostIndex hosts(job.spec().platform);
  for (const RankAssignment& assignment : roster.assignments()) {
    const platforms::Host& host = hosts.host(assignment.host);
    HostPlace place{.region = platforms::property_of(host, "region"), .zone = zone_of(host)};
    if (!place.region.empty() || !place.zone.empty()) places.emplace(host.name, std::move(place));
  }
  return places;
}

}  // namespace tandem
