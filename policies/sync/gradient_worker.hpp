// The worker side that BSP and ASP share: push the gradient of every step, never update locally. What tells
// them apart is when the server answers.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class GradientWorker : public WorkerPolicy {
 public:
  bool exchanges_gradient(const StepBegin&) override { return true; }
  WorkerDecision on_step_done(const StepDone&) override { return Exchange{Payload::gradient}; }
  WorkerDecision on_answer(const Answer&) override { return Continue{}; }
};

}  // namespace tandem::sync
