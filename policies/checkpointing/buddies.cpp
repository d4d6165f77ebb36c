#include "policies/checkpointing/buddies.hpp"

#include <cstddef>

#include "policies/vocabulary/check.hpp"

namespace tandem::checkpointing {

Buddies make_buddies(std::span<const std::string> machines) {
  Buddies buddies;
  if (machines.size() < 2) return buddies;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const bool is_new = buddies.emplace(machines[i], machines[(i + 1) % machines.size()]).second;
    TANDEM_CHECK(is_new, "machine", machines[i], "number", i);
  }
  return buddies;
}

Buddies make_buddies(std::span<const std::string> machines, std::span<const std::string> backups) {
  TANDEM_CHECK(!backups.empty(), "machines", machines.size());
  Buddies buddies;
  std::size_t next = 0;
  for (const std::string& machine : machines)
    for (std::size_t tried = 0; tried < backups.size() && !buddies.contains(machine); ++tried)
      if (const std::string& backup = backups[next++ % backups.size()]; backup != machine)
        buddies.emplace(machine, backup);
  return buddies;
}

std::vector<std::string> holders_of(const Buddies& buddies, const std::string& machine) {
  std::vector<std::string> holders = {machine};
  if (const auto buddy = buddies.find(machine); buddy != buddies.end()) holders.push_back(buddy->second);
  return holders;
}

}  // namespace tandem::checkpointing
