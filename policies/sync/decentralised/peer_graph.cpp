#include "policies/sync/decentralised/peer_graph.hpp"

#include <set>

namespace tandem::sync {
namespace {

/// Distance of the next neighbour beyond `distance`.
int next_distance(const std::string& graph, int workers, int distance) {
  if (graph == "ring") return workers;
  return graph == "exponential" ? 2 * distance : distance + 1;
}

}  // namespace

std::vector<int> neighbourhood(const std::string& graph, int workers, int worker) {
  std::set<int> members = {worker};
  for (int distance = 1; 2 * distance <= workers; distance = next_distance(graph, workers, distance)) {
    members.insert((worker + distance) % workers);
    members.insert((worker + workers - distance) % workers);
  }
  return {members.begin(), members.end()};
}

OptionSpec graph_option(const std::string& summary, const std::string& default_value) {
  return {.name = "graph",
          .summary = summary + ": the two adjacent workers, those at distances 1, 2, 4, ..., or all",
          .default_value = default_value,
          .choices = {"ring", "exponential", "complete"}};
}

}  // namespace tandem::sync
