// The physics of a simulation: SimGrid's network model and flags, decided in one place and reported in every
// result.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <simgrid/s4u.hpp>
#include <string>

#include "sim/simulation.hpp"

namespace tandem::sim {

/// The process's engine with Tandem's defaults (exact alpha-beta, max-min sharing), except where the platform
/// file's own <config> says otherwise. Must be made before the platform is loaded.
std::unique_ptr<simgrid::s4u::Engine> make_engine(const std::map<std::string, std::string>& own);

/// What is in force, and where it comes from. Pre: the engine exists.
nlohmann::json effective_physics(const SimulationSetting& setting);

}  // namespace tandem::sim
