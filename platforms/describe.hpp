// The text that `tandem show PLATFORM.xml` prints. Made from the arguments alone.
#pragma once

#include <string>

#include "platforms/description.hpp"
#include "platforms/topology.hpp"
#include "platforms/unsupported.hpp"

namespace tandem::platforms {

/// Tables of hosts, links and pairs of hosts, with equal ones in one row, and the bisection; ends with a
/// newline.
std::string describe(const Description& description, const Topology& topology);

/// The elements that `tandem simulate` refuses, or that end a simulation; empty when there are none.
std::string describe(const std::vector<Unsupported>& unsupported);

}  // namespace tandem::platforms
