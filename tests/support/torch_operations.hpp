// Sees each operation of libtorch in this thread, below autograd, and records them as a GPU's graph would.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>
#include <memory>

#include "workloads/learner/step_graphs.hpp"

namespace tandem::testing {

/// During its lifetime, `around` is called in place of each operation; `around` calls it. One at a time.
class OperationsSeen {
 public:
  using Around = std::function<void(const c10::OperatorHandle& operation, torch::jit::Stack& stack)>;
  explicit OperationsSeen(Around around);
  ~OperationsSeen();
  OperationsSeen(const OperationsSeen&) = delete;
  OperationsSeen& operator=(const OperationsSeen&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard guard_;
};

/// StepGraphs on the processor: a repetition does the recorded operations again, on the same tensors, and
/// nothing of the program around them. Reading a value (item()) cannot be recorded, as on a GPU.
std::unique_ptr<StepGraphs> make_step_graphs_on_host();

}  // namespace tandem::testing
