// Which cache node serves which worker. Loaders and cache nodes must agree on it.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/job/placement/roster.hpp"

namespace tandem {

/// By worker: the index, among the cache nodes, of the node that serves it. That is one on the worker's own
/// host, which needs no network. Without one there, the nodes take turns. Workers of a host share its nodes
/// evenly. Pre: there is a cache node.
inline std::vector<std::size_t> nodes_of_workers(const Roster& roster) {
  struct Host {
    std::vector<std::size_t> nodes;
    std::size_t workers = 0;  ///< so far
  };
  std::unordered_map<std::string_view, Host> hosts;
  const auto nodes = roster.ranks_of(Roster::Role::cache_node);
  for (std::size_t node = 0; node < nodes.size(); ++node)
    hosts[roster.assignment(nodes[node]).host].nodes.push_back(node);
  std::vector<std::size_t> node_of;
  for (const Rank worker : roster.workers()) {
    Host& host = hosts[roster.assignment(worker).host];
    node_of.push_back(host.nodes.empty() ? node_of.size() % nodes.size()
                                         : host.nodes[host.workers++ % host.nodes.size()]);
  }
  return node_of;
}

/// The cache node of one worker.
inline std::size_t cache_node_of(const Roster& roster, std::size_t worker) {
  return nodes_of_workers(roster).at(worker);
}

/// By cache node: the workers that it serves. Pre: there is a cache node.
inline std::vector<std::vector<std::size_t>> clients_of_nodes(const Roster& roster) {
  std::vector<std::vector<std::size_t>> workers(roster.ranks_of(Roster::Role::cache_node).size());
  const std::vector<std::size_t> node_of = nodes_of_workers(roster);
  for (std::size_t worker = 0; worker < node_of.size(); ++worker) workers[node_of[worker]].push_back(worker);
  return workers;
}

/// The workers of one node.
inline std::vector<std::size_t> clients_of(const Roster& roster, std::size_t node) {
  return clients_of_nodes(roster).at(node);
}

}  // namespace tandem
