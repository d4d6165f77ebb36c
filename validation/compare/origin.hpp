// Whether simulation and measurement used the same network and devices, so that their difference is an error
// of a prediction. Reads records; the texts are for people.
#pragma once

#include <string>

#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// Whether a difference of two results is an error of the simulation.
struct Origin {
  std::string difference{};  ///< "the simulation used the links of lab.xml, ..."; empty: none known
  std::string unknown{};     ///< facts that the results do not have, because an older version wrote them
};
/// A simulation of the platform does not predict a measurement on this machine's own network or devices.
/// `simulated`: the simulation or the witness.
Origin origin_of(const RunInfo& simulated, const RunInfo& measured);

}  // namespace tandem::validation
