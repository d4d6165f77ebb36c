#include "policies/lifetimes/estimate/correlation.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tandem::lifetimes {
namespace {

std::int64_t close_pairs(std::vector<double> deaths, double window) {
  std::ranges::sort(deaths);
  std::int64_t pairs = 0;
  auto first = deaths.begin();
  for (auto death = deaths.begin(); death != deaths.end(); ++death) {
    while (*death - *first > window) ++first;
    pairs += death - first;
  }
  return pairs;
}

double expected_pairs(const std::vector<Presence>& machines, double deaths, double window) {
  std::vector<std::pair<double, int>> changes;
  double time = 0.0;
  for (const auto& machine : machines) {
    changes.emplace_back(machine.begin, 1);
    changes.emplace_back(machine.end, -1);
    time += machine.end - machine.begin;
  }
  if (time <= 0.0) return 0.0;
  std::ranges::sort(changes);
  // The time for which each ordered pair of machines was present together.
  double together = 0.0, present = 0.0, before = 0.0;
  for (const auto& [at, change] : changes) {
    together += present * (present - 1.0) * (at - before);
    present += change;
    before = at;
  }
  const double hazard = deaths / time;
  return hazard * hazard * window * together;
}

}  // namespace

CorrelationIndex correlation_index(const std::vector<Presence>& machines, double window) {
  std::map<std::size_t, std::vector<Presence>> zones;
  for (const auto& machine : machines) zones[machine.zone].push_back(machine);
  CorrelationIndex result;
  for (const auto& [zone, members] : zones) {
    std::vector<double> deaths;
    for (const auto& machine : members)
      if (machine.died) deaths.push_back(machine.end);
    result.pairs += close_pairs(deaths, window);
    result.expected += expected_pairs(members, static_cast<double>(deaths.size()), window);
  }
  result.index = static_cast<double>(result.pairs) / result.expected;
  if (result.expected <= 0.0) result.index = std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace tandem::lifetimes
