// Where ranks stand on a platform, and whether routes join them.
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

/// Of each rank. Pre: the platform is loaded. Errors: ConfigError naming the host that the platform lacks, or
/// two that no route joins as far as SimGrid 3.32 would crash on them: on a host that no route of its
/// Dijkstra zone mentions. A child process finds these.
std::vector<RankHost> find_rank_hosts(const SimulationSetting& setting);

/// Latency of the route; nothing when there is none.
std::optional<double> route_latency_s(const RankHost& from, const RankHost& to);
ConfigError missing_route(const std::string& platform_file, const RankHost& from, const RankHost& to);

}  // namespace tandem::sim
