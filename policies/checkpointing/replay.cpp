#include "policies/checkpointing/replay.hpp"

namespace tandem::checkpointing {
namespace {

struct Dispatch {
  Policy& policy;
  Decisions& decisions;

  void operator()(const Started& event) const { policy.on_started(event, decisions); }
  void operator()(const RoundDone& event) const { policy.on_round_done(event, decisions); }
  void operator()(const Warned& event) const { policy.on_warned(event, decisions); }
  void operator()(const Departed& event) const { policy.on_departed(event, decisions); }
  void operator()(const Ready& event) const { policy.on_ready(event, decisions); }
  void operator()(const Committed& event) const { policy.on_committed(event, decisions); }
  void operator()(const CommitFailed& event) const { policy.on_commit_failed(event, decisions); }
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

}  // namespace tandem::checkpointing
