// The text that `tandem show PLATFORM.xml` prints. Reads nothing but its arguments.
#pragma once

#include <string>

#include "platforms/description.hpp"
#include "platforms/topology.hpp"
#include "platforms/unsupported.hpp"

namespace tandem::platforms {

/// Tables of hosts, links and pairs of hosts, with equal ones in one row, and the bisection; ends with a
/// newline.
std::string describe(const Description& description, const Topology& topology);

/// What `tandem simulate` refuses and what ends a simulation; empty when there is nothing.
std::string describe(const std::vector<Unsupported>& unsupported);

}  // namespace tandem::platforms
