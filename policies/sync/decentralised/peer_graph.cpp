#include "policies/sync/decentralised/peer_graph.hpp"

#include <set>

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

OptionSpec graph_option(const std::string& summary, const std::string& default_value, Among among) {
  const std::string distances = among == Among::all ? "1, 2, 4, 8, ..." : "1, 3, 5, 9, ...";
  return {.name = "graph",
          .summary = summary + ": the two adjacent workers, those at distances " + distances + ", or all",
          .default_value = default_value,
          .choices = {"ring", "exponential", "complete"}};
}

}  // namespace tandem::sync
