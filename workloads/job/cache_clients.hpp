// Which cache node serves which worker. Loaders and cache nodes must agree on it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/job/roster.hpp"

namespace tandem {

/// Index, among the cache nodes, of the one that serves the worker: one on the worker's own host, which needs
/// no network; where there is none, the nodes take turns. Workers of a host share its nodes evenly. Pre:
/// there is a cache node.
inline std::size_t cache_node_of(const Roster& roster, std::size_t worker) {
  const auto workers = roster.workers();
  const auto nodes = roster.ranks_of(Roster::Role::cache_node);
  const auto host_of = [&](Rank rank) -> const std::string& { return roster.assignment(rank).host; };
  const std::string& host = host_of(workers[worker]);
  std::vector<std::size_t> local;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    if (host_of(nodes[node]) == host) local.push_back(node);
  if (local.empty()) return worker % nodes.size();
  std::size_t before = 0;
  for (std::size_t other = 0; other < worker; ++other) before += host_of(workers[other]) == host ? 1 : 0;
  return local[before % local.size()];
}

/// The workers that the cache node serves.
inline std::vector<std::size_t> clients_of(const Roster& roster, std::size_t node) {
  std::vector<std::size_t> workers;
  for (std::size_t worker = 0; worker < roster.workers().size(); ++worker)
    if (cache_node_of(roster, worker) == node) workers.push_back(worker);
  return workers;
}

}  // namespace tandem
