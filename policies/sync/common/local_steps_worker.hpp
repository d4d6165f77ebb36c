// The worker side of local SGD and similar algorithms: a number of local steps, then an exchange of the
// model's change. The algorithms differ in the number of steps, and in the update by the mean change.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class LocalStepsWorker : public WorkerPolicy {
 public:
  /// Exchanges after `steps` local steps, until the server sets another number.
  explicit LocalStepsWorker(std::int64_t steps) : steps_(steps) {}

  WorkerDecision on_step_done(const StepDone& event) override {
    if (event.local_steps < steps_) return Continue{};
    return Exchange{Payload::change};
  }
  void on_local_steps(int steps) override { steps_ = steps; }
  void serialise(PolicyState& state) override { state.value("steps", steps_); }

 private:
  std::int64_t steps_;
};

}  // namespace tandem::sync
