#include "workloads/learner/step_recording.hpp"

#include <utility>

namespace tandem {
namespace {

/// Steps of a batch size before it is recorded; PyTorch's documentation of CUDA graphs suggests three.
constexpr int steps_before_recording = 3;

}  // namespace

bool StepRecording::is_due(std::int64_t samples) {
  if (has(samples)) {
    alike_ = 0;
    return false;
  }
  alike_ = samples == last_samples_ ? alike_ + 1 : 1;
  last_samples_ = samples;
  return alike_ > steps_before_recording;
}

void StepRecording::record(std::unique_ptr<StepGraphs> graphs, const Batch& batch, const StepLoss& loss,
                           const std::function<at::Tensor(const Batch&)>& forward, int buckets,
                           const std::function<void(int)>& backward) {
  Recorded step{batch.labels.size(0), std::move(graphs), {batch.pixels.clone(), batch.labels.clone()}};
  step.graphs->record([&] {
    step.loss = forward(step.batch).detach();
    step.losses_of_samples = loss.of_samples();
  });
  for (int bucket = 0; bucket < buckets; ++bucket) step.graphs->record([&] { backward(bucket); });
  recorded_ = std::move(step);
}

void StepRecording::repeat_forward(const Batch& batch, StepLoss& loss) {
  recorded_->batch.pixels.copy_(batch.pixels);
  recorded_->batch.labels.copy_(batch.labels);
  recorded_->graphs->repeat(0);
  loss.keep(recorded_->loss, recorded_->losses_of_samples);
  ++repeated_;
}

}  // namespace tandem
