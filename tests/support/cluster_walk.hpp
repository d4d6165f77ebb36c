// Follows a packet through the tables of an emulated cluster's plan, as the kernel does.
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/plan.hpp"

namespace tandem::testing {

/// "h3": a device, or a host in a test.
inline std::string numbered(char letter, int number) {
  std::string name(1, letter);
  name += std::to_string(number);
  return name;
}

/// The channels that a packet between the hosts passes, in order; {-1} if it is lost or reaches another host.
inline std::vector<int> walk(const cluster::Plan& plan, const cluster::Pair& pair) {
  std::string arrival = numbered('h', pair.first);
  std::vector<int> channels;
  for (int steps = 0; steps < 200; ++steps) {
    const cluster::Turn* taken = nullptr;
    for (const auto& turn : plan.turns) {
      if (turn.arrival != arrival || turn.to != pair.second) continue;
      if (turn.from == pair.first || (turn.from < 0 && taken == nullptr)) taken = &turn;
    }
    if (taken == nullptr) return {-1};
    const int number = std::stoi(taken->departure.substr(1));
    switch (taken->departure[0]) {
      case 'h':
        return number == pair.second ? channels : std::vector<int>{-1};
      case 's':
        arrival = numbered('t', number);
        break;
      default:
        channels.push_back(plan.shapers.at(static_cast<std::size_t>(number)).channel);
        arrival = numbered('b', number);
    }
  }
  return {-1};
}

}  // namespace tandem::testing
