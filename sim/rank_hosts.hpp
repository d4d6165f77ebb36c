// The hosts of the ranks, and whether routes connect them.
#pragma once

#include <optional>
#include <simgrid/s4u/Host.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

struct RankHost {
  Rank rank;
  simgrid::s4u::Host* host;
};

/// The host of each rank. Pre: the platform is loaded. Errors: ConfigError naming a host that the platform
/// does not have, or two hosts without a route on which SimGrid 3.32 would crash (it crashes on a host that
/// no route of its Dijkstra zone mentions; a child process detects these).
std::vector<RankHost> find_rank_hosts(const SimulationSetting& setting);

/// Latency of the route; none: there is no route.
std::optional<double> route_latency_s(const RankHost& from, const RankHost& to);
ConfigError missing_route(const std::string& platform_file, const RankHost& from, const RankHost& to);

}  // namespace tandem::sim
