// The drawing of a platform as an SVG picture, for pages and files. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem::validation {

/// `drawing`: as platform_drawing() returns it. From left to right: what connects switches, switches, links,
/// hosts. A whole SVG document, which HTML pages may contain as it is.
std::string platform_svg(const nlohmann::json& drawing);

}  // namespace tandem::validation
