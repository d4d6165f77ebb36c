#include "workloads/job/plan/zones.hpp"

#include <map>
#include <string>

#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem {

std::vector<std::size_t> zones_of(const Job& job) { return zones_of(job, {}); }

std::vector<std::size_t> zones_of(const Job& job, std::span<const std::string> more) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> zones;
  const Roster roster(whole_experiment(job));
  const auto add = [&](const std::string& host) {
    const auto& properties = job.spec().platform.host(host).properties;
    const auto zone = properties.find("tandem:zone");
    const std::string name = zone == properties.end() ? "" : zone->second;
    zones.push_back(numbers.emplace(name, numbers.size()).first->second);
  };
  for (const Rank worker : roster.workers()) add(roster.host_of(worker));
  for (const std::string& host : more) add(host);
  return zones;
}

}  // namespace tandem
