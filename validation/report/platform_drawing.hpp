// A platform as a drawing: hosts, the networks that connect them, and the networks that connect those.
// Derived from routes alone. Pure.
#pragma once

#include <optional>
#include <vector>

#include "validation/report/page.hpp"
#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// More than four equal hosts of a node are drawn as one, with their number; so are more than two other
/// equal nodes. Hosts and links that limit the job are drawn apart from those that do not. Each link is
/// named in one text. Pre: at least one host.
DrawnPlatform platform_drawing(const PlatformParts& platform);

/// Adds a heading and these drawings; nothing without drawings.
void add_platforms(const std::optional<std::vector<DrawnPlatform>>& platforms, Page& page);

}  // namespace tandem::validation
