#include "policies/sync/decentralised/peer_graph.hpp"

#include <algorithm>
#include <set>

#include "policies/vocabulary/check.hpp"

namespace tandem::sync {
namespace {

/// Distance of the next neighbour beyond `distance`: 1, 2, 4, 8, ... in the exponential graph, or 1, 3, 5, 9,
/// 17, ... where every second worker is active and only odd distances lead to the others.
int next_distance(const std::string& graph, int workers, int distance, Among among) {
  if (graph == "ring") return workers;
  if (graph == "complete") return distance + 1;
  if (among == Among::all) return 2 * distance;
  return distance == 1 ? 3 : 2 * distance - 1;
}

}  // namespace

std::vector<int> neighbourhood(const std::string& graph, int workers, int worker, Among among) {
  std::set<int> members = {worker};
  // Far enough around the ring that the next one would be a neighbour from the other side.
  const int farthest = graph == "exponential" ? workers - 1 : workers / 2;
  for (int distance = 1; distance <= farthest; distance = next_distance(graph, workers, distance, among)) {
    members.insert((worker + distance) % workers);
    members.insert((worker + workers - distance) % workers);
  }
  return {members.begin(), members.end()};
}

std::vector<int> neighbourhood(const std::string& graph, const std::vector<int>& members, int worker) {
  const auto place = std::ranges::lower_bound(members, worker);
  TANDEM_CHECK(place != members.end() && *place == worker, "not among the members: worker", worker);
  std::vector<int> workers;
  for (const int other :
       neighbourhood(graph, static_cast<int>(members.size()), static_cast<int>(place - members.begin())))
    workers.push_back(members[static_cast<std::size_t>(other)]);
  return workers;
}

std::vector<std::vector<int>> bipartite_neighbours(const std::string& graph, const std::vector<int>& active,
                                                   const std::vector<int>& passive) {
  const auto others = std::ssize(passive), size = std::ssize(active);
  std::vector<std::vector<int>> all;
  for (std::ptrdiff_t place = 0; place < size; ++place) {
    std::set<int> chosen;
    const auto add = [&](std::ptrdiff_t at) {
      chosen.insert(passive[static_cast<std::size_t>(((at % others) + others) % others)]);
    };
    // The passive workers around a ring, cut at both ends where those of the next active ones begin.
    const std::ptrdiff_t first = place * others / size - 1, last = (place + 1) * others / size - 1;
    const std::ptrdiff_t reach = graph == "complete" ? others - 1 : last - first;
    for (std::ptrdiff_t step = 0; others > 0 && step <= reach; ++step) add(first + step);
    for (std::ptrdiff_t step = 1; graph == "exponential" && step < others; step *= 2) {
      add(last + step);
      add(first - step);
    }
    all.emplace_back(chosen.begin(), chosen.end());
  }
  return all;
}

void serialise_members(PolicyState& state, std::vector<int>& members, int workers, int worker) {
  std::vector<bool> present(static_cast<std::size_t>(workers), false);
  for (const int member : members) present[static_cast<std::size_t>(member)] = true;
  state.flags("present", present);
  members.clear();
  for (int member = 0; member < workers; ++member)
    if (present[static_cast<std::size_t>(member)]) members.push_back(member);
  if (!std::ranges::binary_search(members, worker))
    throw ConfigError("policy state: expected worker " + std::to_string(worker) + " to be 'present'");
}

OptionSpec graph_option(const std::string& summary, const std::string& default_value, Among among) {
  const std::string distances = among == Among::all ? "1, 2, 4, 8, ..." : "1, 3, 5, 9, ...";
  return {.name = "graph",
          .summary = summary + ": the two adjacent workers, those at distances " + distances + ", or all",
          .default_value = default_value,
          .choices = {"ring", "exponential", "complete"}};
}

}  // namespace tandem::sync
