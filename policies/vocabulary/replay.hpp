// Recorded decisions of a policy, made again: what the replays of all kinds of policies share.
#pragma once

#include <string>
#include <vector>

namespace tandem {

/// An event of a log and the decisions on it, both as text.
struct LogLine {
  std::string event;
  std::string decisions;
  bool operator==(const LogLine&) const = default;
};

/// What a policy decides on recorded events, in order. `decide_in_words(event)`: its decisions on one, both
/// as text. Errors: those of `decide_in_words`.
template <class DecideInWords>
std::vector<LogLine> replayed(const std::vector<std::string>& events, DecideInWords&& decide_in_words) {
  std::vector<LogLine> lines;
  for (const auto& event : events) lines.push_back({event, decide_in_words(event)});
  return lines;
}

}  // namespace tandem
