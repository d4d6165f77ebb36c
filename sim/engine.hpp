// The start of every simulation: SimGrid's engine with Tandem's flags, the platform, and the measured
// network.
#pragma once

#include <functional>
#include <map>
#include <simgrid/s4u/Engine.hpp>
#include <string>

#include "sim/network.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

/// `own`: flags that the platform file sets itself. `network` gives messages their costs. `before_loading` is
/// called after the flags are set and before the platform is loaded. The engine lives until the process ends.
/// Errors: ConfigError for the platform; WorldError when this process has simulated already.
simgrid::s4u::Engine& start_engine(const SimulationSetting& setting,
                                   const std::map<std::string, std::string>& own, Network& network,
                                   const std::function<void()>& before_loading = {});

}  // namespace tandem::sim
