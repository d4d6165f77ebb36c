// Finds out which hosts of a topology are near each other.
#pragma once

#include "platforms/description_network.hpp"
#include "platforms/topology.hpp"

namespace tandem::platforms {

/// The network between the hosts of a topology as plain data, with its orders and levels of nearness.
///
/// Two hosts are the nearer the fewer channels the way between them has, then the wider its narrowest one,
/// then the shorter its latency (for the order by bandwidth: the wider, then the fewer); the worse direction
/// counts. Hosts are joined in the order of Kruskal's algorithm (Boost.Graph), the nearest first, each time
/// by those ends of two chains that are nearest to each other. So the hosts of a rack, and of a row of racks,
/// stand side by side, and a ring in that order leaves each of them once. Ties go to the order in which the
/// topology lists its hosts.
Network describe_network(const Topology& topology);

/// That of these hosts of a platform file. Errors and Pre: as load_topology.
Network load_network(const std::string& path, const std::vector<std::string>& hosts);

}  // namespace tandem::platforms
