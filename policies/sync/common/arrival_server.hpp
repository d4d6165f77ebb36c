// The server side of ASP, and of algorithms that decide like ASP but update the model by a rule of their
// own. Each push is applied on arrival and answered with the new model.
#pragma once

#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {

class ArrivalServer final : public PushServer {
 public:
  explicit ArrivalServer(const Setting&) {}
  void on_push(const Push& event, ServerDecisions& decisions) override {
    apply_at_once(event, 1.0, decisions);
  }
  void serialise(PolicyState&) override {}
};

}  // namespace tandem::sync
