// The server side of algorithms whose workers push without asking first. This class does nothing when
// workers leave or join.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class PushServer : public ServerPolicy {
 public:
  void on_report(const Report& event, ServerDecisions& decisions) override {
    decisions.emplace_back(AnswerReport{event.worker, true});
  }
  void on_left(const Left&, ServerDecisions&) override {}
  void on_joined(const Joined&, ServerDecisions&) override {}
};

/// Drops a push of an old model, or one of a cancelled step, and sends its worker the current one.
inline void drop(const Push& event, ServerDecisions& decisions) {
  decisions.emplace_back(Discard{event.worker});
  decisions.emplace_back(Reply{event.worker});
}

/// Applies a push as soon as it arrives, and answers its worker with the new model.
inline void apply_at_once(const Push& event, double scale, ServerDecisions& decisions) {
  decisions.emplace_back(Accept{event.worker});
  decisions.emplace_back(Apply{scale});
  decisions.emplace_back(Reply{event.worker});
}

}  // namespace tandem::sync
