// A platform as a drawing: hosts, what connects them, and what connects that. Derived from nothing but
// routes. Pure.
#pragma once

#include <optional>
#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// Pre: at least one host.
///
/// Equal hosts of a node are drawn as one, with their number, if there are more than four; other equal nodes
/// if there are more than two. What binds is drawn by itself, or with others that bind as much. Each link is
/// in one text.
DrawnPlatform platform_drawing(const PlatformParts& platform);

/// A heading and each of these drawings; nothing without them.
void add_platforms(const std::optional<std::vector<DrawnPlatform>>& platforms, Page& page);

}  // namespace tandem::validation
