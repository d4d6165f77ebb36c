// The worker side of local SGD and similar algorithms: a number of local steps, then an exchange of the
// model's change. The algorithms differ in the number of steps, and in the update by the mean change.
#pragma once

#include <cstdint>
#include <string>

#include "policies/sync/common/weights.hpp"
#include "policies/sync/policy.hpp"

namespace tandem::sync {

class LocalStepsWorker : public WorkerPolicy {
 public:
  /// Exchanges after `steps` local steps, until the server sets another number. `weights`, `may_pass`: see
  /// RoundWeight.
  explicit LocalStepsWorker(std::int64_t steps, const std::string& weights = "uniform", bool may_pass = false)
      : steps_(steps), weight_(weights, may_pass) {}

  WorkerDecision on_step_done(const StepDone& event) override {
    weight_.add(event);
    if (event.local_steps < steps_) return Continue{};
    return weight_.exchange();
  }
  void on_local_steps(int steps) override { steps_ = steps; }
  void serialise(PolicyState& state) override {
    state.value("steps", steps_);
    weight_.serialise(state);
  }

 private:
  std::int64_t steps_;
  RoundWeight weight_;
};

}  // namespace tandem::sync
