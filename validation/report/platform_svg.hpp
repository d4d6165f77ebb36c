// The drawing of a platform as an SVG picture, for pages and files. Pure.
#pragma once

#include <string>

#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// From top to bottom: a node as a box, and below it, further
/// right, its children, each on a line from it; what children share is a thick line. 460 pixels wide where
/// the tree is not deep, with letters of 11.5 pixels or more. A whole SVG document, which HTML pages may
/// contain as it is.
std::string platform_svg(const DrawnPlatform& drawing);

}  // namespace tandem::validation
