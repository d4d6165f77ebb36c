// Stands in for the witness where SimGrid came without its MPI: says so when it is asked for.
#include "policies/vocabulary/check.hpp"
#include "sim/witness/witness.hpp"

namespace tandem::witness {

sim::SimulationResult simulate(const sim::SimulationSetting&) {
  throw ConfigError("fidelity smpi needs SimGrid's MPI, and this Tandem was built without it");
}

}  // namespace tandem::witness
