// Shortens lists of names for people: node-1, node-2, node-3 is "node-1..node-3".
#pragma once

#include <string>
#include <vector>

namespace tandem::platforms {

/// Runs of names that differ in one number counted up by one are joined; at most `most` parts, then "and N
/// more".
std::string name_ranges(const std::vector<std::string>& names, std::size_t most = 4);

}  // namespace tandem::platforms
