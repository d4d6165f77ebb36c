// The pieces of a training step as CUDA graphs: each is recorded once, and then queued by one call instead of
// one launch for each of its kernels.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace tandem {

class StepGraphs {
 public:
  virtual ~StepGraphs() = default;
  /// Records the work that `work` queues in libtorch's current stream as the next piece. Computes nothing
  /// and changes no tensor. The tensors that it makes stay valid as long as this object; a repetition writes
  /// their values. Pre: libtorch has computed the same before, so that its libraries have chosen their
  /// algorithms. Errors: those of libtorch if it lacks memory, or if `work` waits for the GPU.
  virtual void record(const std::function<void()>& work) = 0;
  /// Queues a piece again, with the current values of its inputs. Pre: pieces are repeated in the order in
  /// which they were recorded, because they share memory; any number of the last ones may be left out.
  virtual void repeat(std::size_t piece) = 0;
};

/// Null where libtorch cannot record: on the processor, or built without CUDA.
std::unique_ptr<StepGraphs> make_step_graphs(at::Device device);

}  // namespace tandem
