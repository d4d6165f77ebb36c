// Replaces the witness where SimGrid was built without its MPI: an error that says so.
#include "policies/vocabulary/check.hpp"
#include "sim/witness/witness.hpp"

namespace tandem::witness {

sim::SimulationResult simulate(const sim::SimulationSetting&) {
  throw ConfigError("fidelity smpi needs SimGrid's MPI, and this Tandem was built without it");
}

}  // namespace tandem::witness
