// The network between machines as a tree: machines, groups of machines (racks, sites), and a cable from each
// to its parent. Plain data, without SimGrid and Boost, because the rank program discovers it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tandem::discovery {

/// Towards the core of the network, and away from it.
struct Cable {
  double up = 0.0;         ///< bytes per second
  double down = 0.0;       ///< bytes per second
  bool is_shared = false;  ///< both directions together have the bandwidth `up`, which is then also `down`
  double latency_s = 0.0;  ///< one way
  /// Whether a measurement showed that it limits the nodes below it; otherwise its bandwidths are the
  /// highest measured ones.
  bool limits = true;
  bool operator==(const Cable&) const = default;
};

struct Node {
  static constexpr int core = -1;
  std::string name = {};  ///< of a group that the user named; machines have none here
  int parent = core;      ///< number of a group, or the core
  Cable cable = {};       ///< to the parent
  bool operator==(const Node&) const = default;
};

/// Messages between two processes of one machine.
struct Loopback {
  double rate = 0.0;  ///< bytes per second
  double latency_s = 0.0;
  bool operator==(const Loopback&) const = default;
};

struct Tree {
  int machines = 0;
  std::vector<Node> nodes;  ///< the machines, then the groups; a group has a larger number than its members
  std::vector<Loopback> loopbacks;  ///< of each machine
  bool operator==(const Tree&) const = default;

  /// Node numbers from the node up to the core, the node itself first.
  std::vector<int> path_up(int node) const;
  /// The machines at or below a node.
  std::vector<int> machines_below(int node) const;
};

nlohmann::json to_json(const Tree& tree);
/// Inverse of to_json. Errors: nlohmann::json::exception.
Tree tree_from_json(const nlohmann::json& document);

}  // namespace tandem::discovery
