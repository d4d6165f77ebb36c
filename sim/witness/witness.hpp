// The ranks' own MPI code on SimGrid's MPI (SMPI), over the same simulated network as the simulator's: a
// third result to compare. Its difference from the simulation is an error of the simulator's code, its
// difference from a measured run is an error of the network model.
#pragma once

#include "sim/simulation.hpp"

namespace tandem::witness {

/// Runs every body on an MpiContext as measured runs do. Devices and disks are emulated per rank, as in a
/// measured run, and messages above the eager limit (that of TCP where the setting has none) wait for their
/// receive. Once per process, and not after sim::simulate. Errors: as sim::simulate; ConfigError too when no
/// route joins two of the ranks, or when this Tandem was built without SMPI.
sim::SimulationResult simulate(const sim::SimulationSetting& setting);

}  // namespace tandem::witness
