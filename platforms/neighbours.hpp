// Computes the distances between the hosts of a topology, and groups near hosts.
#pragma once

#include <string>
#include <vector>

#include "platforms/description_network.hpp"
#include "platforms/topology.hpp"

namespace tandem::platforms {

/// The link from a host to itself where the platform declares none, in place of SimGrid's.
inline constexpr BytesPerSecond undeclared_loopback_bandwidth{1e10};
inline constexpr Seconds undeclared_loopback_latency{1e-6};

/// The network between the hosts of a topology as plain data, with its orders and levels of nearness.
///
/// Two hosts are nearer with fewer channels on their route, then with a higher bottleneck bandwidth, then
/// with a lower latency (for the order by bandwidth: bandwidth first, then channels); the worse direction
/// counts. Kruskal's algorithm (Boost.Graph) joins hosts, the nearest first, each time at the nearest ends of
/// two chains. So the hosts of a rack, and of a row of racks, are adjacent, and a ring in that order leaves
/// each rack once. Ties follow the topology's order of hosts.
///
/// `hubs`: hosts whose routes it keeps, where not all are known.
Network describe_network(const Topology& topology, const std::vector<std::string>& hubs = {});

/// The network between these hosts of a platform; `hubs` are some of them. Errors and Pre: as load_topology.
Network load_network(const Description& description, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& hubs = {});
/// Of a platform file that was not loaded.
Network load_network(const std::string& path, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& hubs = {});

}  // namespace tandem::platforms
