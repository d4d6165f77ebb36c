#include "policies/recovery/replay.hpp"

namespace tandem::recovery {
namespace {

struct Dispatch {
  Policy& policy;
  Decisions& decisions;

  void operator()(const Started& event) const { policy.on_started(event, decisions); }
  void operator()(const Warned& event) const { policy.on_warned(event, decisions); }
  void operator()(const Departed& event) const { policy.on_departed(event, decisions); }
  void operator()(const Ready& event) const { policy.on_ready(event, decisions); }
  void operator()(const RequestFailed& event) const { policy.on_request_failed(event, decisions); }
  void operator()(const Tick& event) const { policy.on_tick(event, decisions); }
};

}  // namespace

Decisions decide(Policy& policy, const Event& event) {
  Decisions decisions;
  std::visit(Dispatch{policy, decisions}, event);
  return decisions;
}

std::string decide_in_words(Policy& policy, const std::string& event) {
  return to_text(decide(policy, parse_event(event)));
}

std::vector<LogLine> replay(Policy& policy, const std::vector<std::string>& events) {
  return replayed(events, [&](const std::string& event) { return decide_in_words(policy, event); });
}

}  // namespace tandem::recovery
