// The one message about a platform file that SimGrid refuses: SimGrid names the line, the element, the
// expected and the found value in some of its messages, and none of them in others.
#pragma once

#include "platforms/child_process.hpp"
#include "platforms/platform_xml.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {

/// The error of a child that failed to load the file.
ConfigError refusal(const PlatformXml& xml, const ChildResult& failed);

}  // namespace tandem::platforms
