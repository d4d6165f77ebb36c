// Shortens lists of names for people: node-1, node-2, node-3 is "node-1..node-3".
#pragma once

#include <string>
#include <vector>

namespace tandem::platforms {

/// Joins names whose numbers increase by one; lists at most `most` parts, then "and N more".
std::string name_ranges(const std::vector<std::string>& names, std::size_t most = 3);

}  // namespace tandem::platforms
