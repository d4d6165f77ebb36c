#include "workloads/job/zones.hpp"

#include <map>
#include <string>

#include "workloads/job/workers_of_generation.hpp"

namespace tandem {

std::vector<std::size_t> zones_of(const Job& job) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> zones;
  const Roster roster(whole_experiment(job));
  for (const Rank worker : roster.workers()) {
    const auto& properties = job.spec().platform.host(roster.host_of(worker)).properties;
    const auto zone = properties.find("tandem:zone");
    const std::string name = zone == properties.end() ? "" : zone->second;
    zones.push_back(numbers.emplace(name, numbers.size()).first->second);
  }
  return zones;
}

}  // namespace tandem
