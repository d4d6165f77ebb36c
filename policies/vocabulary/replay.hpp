// Passes events to a policy, also recorded ones: the common part of the replays of all kinds of policies.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace tandem {

/// An event of a log and the decisions on it, both as text.
struct LogLine {
  std::string event;
  std::string decisions;
  bool operator==(const LogLine&) const = default;
};

/// How decisions.csv and event logs record that a policy continues from a state: "restore version=7 ...".
inline constexpr std::string_view restored_event_begins = "restore ";
inline std::string restore_event(const std::string& state) {
  return std::string(restored_event_begins) + state;
}
/// The state in such a record; none if the text is another event.
inline std::optional<std::string> restored_state(const std::string& event) {
  if (!event.starts_with(restored_event_begins)) return std::nullopt;
  return event.substr(restored_event_begins.size());
}

/// The policy's decisions on an event, one of several types in a variant. `handlers`: its members that take
/// these types, `void (Policy::*)(const Type&, Decisions&)`, one each.
template <class Decisions, class Policy, class Event, class... Handlers>
Decisions decided(Policy& policy, const Event& event, Handlers... handlers) {
  Decisions decisions;
  const auto handle = [&]<class Type>(const Type& one) {
    static_assert((std::is_invocable_v<Handlers, Policy&, const Type&, Decisions&> + ...) == 1);
    const auto offer = [&](auto handler) {
      if constexpr (std::is_invocable_v<decltype(handler), Policy&, const Type&, Decisions&>)
        std::invoke(handler, policy, one, decisions);
    };
    (offer(handlers), ...);
  };
  std::visit(handle, event);
  return decisions;
}

/// A policy whose namespace has `read_event(policy, text)`, `decide(policy, event)` and `to_text(decisions)`.
template <class Policy>
concept Replayable = requires(Policy& policy, const std::string& text) {
  to_text(decide(policy, read_event(policy, text)));
};

/// The policy's decisions on a recorded event, as text. Errors: ConfigError when the text is not an event.
template <Replayable Policy>
std::string decide_in_words(Policy& policy, const std::string& event) {
  return to_text(decide(policy, read_event(policy, event)));
}

/// The same for several events, in order.
template <Replayable Policy>
std::vector<LogLine> replay(Policy& policy, const std::vector<std::string>& events) {
  std::vector<LogLine> lines;
  for (const auto& event : events) lines.push_back({event, decide_in_words(policy, event)});
  return lines;
}

}  // namespace tandem
