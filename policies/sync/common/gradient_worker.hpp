// The worker side of BSP, ASP and all algorithms between them: push the gradient of every step, without a
// local update. The algorithms differ in the time and the content of the server's answer.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

class GradientWorker final : public WorkerPolicy {
 public:
  explicit GradientWorker(const Setting&) {}
  std::optional<Exchange> on_step_begin(const StepBegin&) override { return Exchange{Payload::gradient}; }
  void serialise(PolicyState&) override {}
};

}  // namespace tandem::sync
