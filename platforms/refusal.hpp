// The message about a platform file that SimGrid refuses. It always names line, element, expected and found
// value; SimGrid's own messages name them in some cases only.
#pragma once

#include "platforms/child_process.hpp"
#include "platforms/platform_xml.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::platforms {

/// The error of a child that failed to load the file.
ConfigError refusal(const PlatformXml& xml, const ChildResult& failed);

}  // namespace tandem::platforms
