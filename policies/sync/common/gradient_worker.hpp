// The worker side of BSP, ASP and all that lies between: push the gradient of every step, never update
// locally. What tells them apart is when, and with what, the server answers.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class GradientWorker : public WorkerPolicy {
 public:
  std::optional<Exchange> on_step_begin(const StepBegin&) override { return Exchange{Payload::gradient}; }
};

inline std::unique_ptr<WorkerPolicy> make_gradient_worker(const Setting&, int) {
  return std::make_unique<GradientWorker>();
}

}  // namespace tandem::sync
