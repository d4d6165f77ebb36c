// Feeds events to recovery policies, also recorded ones.
#pragma once

#include <string>
#include <vector>

#include "policies/recovery/policy.hpp"
#include "policies/vocabulary/replay.hpp"

namespace tandem::recovery {

/// The policy's decisions on an event.
Decisions decide(Policy& policy, const Event& event);

/// The policy's decisions on a recorded event, as text. Errors: ConfigError when the text is not an event.
std::string decide_in_words(Policy& policy, const std::string& event);

using tandem::LogLine;
/// The same for several events, in order.
std::vector<LogLine> replay(Policy& policy, const std::vector<std::string>& events);

}  // namespace tandem::recovery
