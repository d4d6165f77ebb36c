// The training step of one batch size, recorded as CUDA graphs, and the choice of the batch size to record.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "workloads/learner/batch_loader.hpp"
#include "workloads/learner/step_graphs.hpp"
#include "workloads/learner/step_loss.hpp"

namespace tandem {

/// A batch size is recorded after some steps of it in a row, in which libtorch's libraries choose
/// algorithms. It replaces the size before. So the last batch of an epoch, which is often smaller, is not
/// recorded.
class StepRecording {
 public:
  /// Begins a step of `samples` samples. True: record it now.
  bool is_due(std::int64_t samples);
  bool has(std::int64_t samples) const { return recorded_ && recorded_->samples == samples; }
  /// Frees its memory.
  void discard() { recorded_.reset(); }
  /// `forward`: computes the mean loss of this batch, and keeps the losses of samples in `loss`. `backward`:
  /// computes the gradients of a bucket. Errors: those of StepGraphs::record; then there is no recording.
  void record(std::unique_ptr<StepGraphs> graphs, const Batch& batch, const StepLoss& loss,
              const std::function<at::Tensor(const Batch&)>& forward, int buckets,
              const std::function<void(int)>& backward);
  /// Queues the forward pass of another batch of that size. Pre: has().
  void repeat_forward(const Batch& batch, StepLoss& loss);
  /// Queues the backward pass of a bucket of the same step.
  void repeat_backward(int bucket) { recorded_->graphs->repeat(static_cast<std::size_t>(bucket) + 1); }
  /// Steps that were repeated.
  std::int64_t repeated() const { return repeated_; }

 private:
  /// The forward pass, then the backward pass of each bucket.
  struct Recorded {
    std::int64_t samples;
    std::unique_ptr<StepGraphs> graphs;
    Batch batch;  ///< that is read
    at::Tensor loss = {};
    at::Tensor losses_of_samples = {};  ///< where they are kept
  };

  std::optional<Recorded> recorded_;
  std::int64_t repeated_ = 0;
  std::int64_t last_samples_ = 0;  ///< of the last step that was not repeated
  int alike_ = 0;                  ///< steps in a row with that number of samples that were not repeated
};

}  // namespace tandem
