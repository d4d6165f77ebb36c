// Feeds events to checkpointing policies, also recorded ones.
#pragma once

#include <string>

#include "policies/checkpointing/policy.hpp"
#include "policies/vocabulary/replay.hpp"

namespace tandem::checkpointing {

/// The policy's decisions on an event.
Decisions decide(Policy& policy, const Event& event);

/// A recorded event of such policies. Errors: ConfigError when the text is not an event.
inline Event read_event(const Policy&, const std::string& text) { return parse_event(text); }

using tandem::decide_in_words;
using tandem::LogLine;
using tandem::replay;
using tandem::restore_event;
using tandem::restored_state;

}  // namespace tandem::checkpointing
