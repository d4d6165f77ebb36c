// The drawing of a platform as an SVG picture, for pages and files. Pure.
#pragma once

#include <string>

#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// A node is a box; its children are below it and further right, each on a line from it. A link that the
/// children share is a thick line. 460 pixels wide unless the tree is deep, with letters of 11.5 pixels or
/// more. A complete SVG document, which HTML pages may contain unchanged.
std::string platform_svg(const DrawnPlatform& drawing);

}  // namespace tandem::validation
