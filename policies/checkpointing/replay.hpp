// Feeds events to checkpointing policies, also recorded ones.
#pragma once

#include <string>
#include <vector>

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

/// The policy's decisions on an event.
Decisions decide(Policy& policy, const Event& event);

/// An event of a log and the decisions on it, both as text.
struct LogLine {
  std::string event;
  std::string decisions;
  bool operator==(const LogLine&) const = default;
};
/// The policy's decisions on recorded events, in order. Errors: ConfigError when a line is not an event.
std::vector<LogLine> replay(Policy& policy, const std::vector<std::string>& events);

}  // namespace tandem::checkpointing
