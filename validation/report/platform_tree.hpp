// Infers a tree of machines and networks from the routes between hosts alone. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace tandem::validation {

/// Hosts and links are numbers from 0.
struct HostRoutes {
  std::size_t hosts = 0;
  std::vector<std::optional<std::vector<int>>> routes;  ///< by from * hosts + to; absent: there is none
  std::vector<int> kinds;  ///< by link: links of one kind have equal bandwidth and latency
};

/// A host, or hosts that are connected at one point. Each link of the routes is in one place of the tree.
struct PlatformTree {
  /// Links that only messages between these two children cross.
  struct Direct {
    std::size_t from = 0, to = 0;  ///< of the children; from < to
    std::vector<int> links;
  };
  std::vector<std::size_t> hosts;  ///< all below; of a leaf: itself
  std::vector<int> own;  ///< links that only its hosts' messages to and from others cross, nearest first
  std::vector<PlatformTree> children;
  std::vector<int> shared;  ///< links that the messages between every two children cross
  std::vector<Direct> direct;
  std::vector<int> mesh;  ///< other links between children: on some routes, of more than one pair of children
};

/// Nodes are connected at one point if their routes to all others are the same, without the links of their
/// own and up to direct links of one kind. Pre: at least one host.
PlatformTree platform_tree(const HostRoutes& routes);

}  // namespace tandem::validation
