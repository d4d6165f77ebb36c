// The platforms of a report's jobs as drawings.
#pragma once

#include <string>
#include <vector>

#include "validation/report/platform_parts.hpp"

namespace tandem::cli {

/// A drawing (validation/report/platform_drawing.hpp) for each platform file that jobs of a report used and
/// that still exists. It has the hosts with a rank, at most 128: first some with other ranks than workers,
/// the slowest ones, and those with the slowest connections; then others at equal distances in the list.
/// Files that cannot be loaded, or that lack a host, are left out.
std::vector<validation::DrawnPlatform> drawings_of(const std::vector<validation::PlatformUse>& uses);

/// A drawing of all hosts of one file, without roles. Errors: ConfigError.
validation::DrawnPlatform drawing_of(const std::string& path);

}  // namespace tandem::cli
