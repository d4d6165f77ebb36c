// The platforms of a report's jobs as drawings.
#pragma once

#include <string>
#include <vector>

#include "validation/report/platform_parts.hpp"

namespace tandem::cli {

/// For each platform file that jobs of a report used and that still exists, a drawing
/// (validation/report/platform_drawing.hpp) of the hosts with a rank, of 128 at most: some with other ranks
/// than workers, the slowest ones, and those with the slowest connections come first, others are at equal
/// distances in the list. Files that cannot be loaded, or that lack a host, are left out.
std::vector<validation::DrawnPlatform> drawings_of(const std::vector<validation::PlatformUse>& uses);

/// The same of one file, of all hosts, without roles. Errors: ConfigError.
validation::DrawnPlatform drawing_of(const std::string& path);

}  // namespace tandem::cli
