// The server side of SSP and DynSGD. Each push is applied on arrival. It is answered when its worker is at
// most `staleness` steps ahead of the slowest. The algorithms differ in the factor on a push.
#pragma once

#include "policies/sync/common/clocks.hpp"
#include "policies/sync/common/push_server.hpp"

namespace tandem::sync {

class BoundedServer : public PushServer {
 public:
  BoundedServer(int workers, std::int64_t staleness) : clocks_(workers), staleness_(staleness) {}

  void on_push(const Push& event, ServerDecisions& decisions) override {
    decisions.emplace_back(Accept{event.worker});
    decisions.emplace_back(Apply{scale_of(event)});
    clocks_.complete_step(event.worker);
    clocks_.release_within(staleness_, decisions);
  }
  void on_left(const Left& event, ServerDecisions& decisions) override {
    clocks_.leave(event.worker);
    clocks_.release_within(staleness_, decisions);
  }
  void on_joined(const Joined& event, ServerDecisions&) override { clocks_.join(event.worker); }
  void serialise(PolicyState& state) override { clocks_.serialise(state); }

 private:
  /// The factor on the update of this push. Called once for each push.
  virtual double scale_of(const Push& event) = 0;

  Clocks clocks_;
  std::int64_t staleness_;
};

}  // namespace tandem::sync
