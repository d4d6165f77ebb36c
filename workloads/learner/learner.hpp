// Real mathematics behind a plain interface: one replica of a model with flat, bucketed parameters and
// gradients. The only implementation uses libtorch and is in this folder; this header includes none of
// libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/model/catalog.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

class ComputeDevice;

struct EvaluationResult {
  double accuracy = 0.0;  ///< correct / total
  double loss = 0.0;      ///< mean over samples
  /// Samples whose class is among the five largest outputs / total; NaN for at most five classes.
  double top5_accuracy = std::numeric_limits<double>::quiet_NaN();
};

/// Samples that an evaluation computes together.
inline constexpr std::int64_t evaluation_batch = 256;

/// One replica. Not thread-safe; several instances coexist. Uses one thread. On a device that is not the
/// host, `load`, `forward` and `backward` only queue work. Errors: NoMemoryError from any of them when the
/// device has too little memory.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual const ModelDescription& description() const = 0;

  /// Flat layout of ModelDescription, `elements()` floats each. Views into the live model, in the device's
  /// memory.
  virtual std::span<float> model() = 0;
  /// Gradient of the mean loss over the batch (LearnerSetting::sums_gradients: of the sum). After the
  /// backward pass of a bucket, the places of its statistics hold the current running values.
  virtual std::span<float> gradient() = 0;

  /// Reads a batch of records (Dataset::record_bytes each): decodes pixels to [0, 1] and normalises them.
  /// The caller may change the records afterwards.
  virtual void load(std::span<const std::byte> records) = 0;
  /// Factors on the losses of the loaded batch's samples, for its forward pass; all 1 without a call. Pre:
  /// the learner keeps the losses of samples, and there is one factor for each sample.
  virtual void weigh(std::span<const float> weights) = 0;
  /// Forward over the loaded batch, a training step: dropout omits different values each time.
  virtual void forward() = 0;
  /// Mean loss of the last forward; waits for it. Pre: forward was called.
  virtual double loss() = 0;
  /// The loss of each sample of the last forward, without weights; waits for them. Valid until the next
  /// forward. Pre: LearnerSetting::sample_losses, forward was called.
  virtual std::span<const float> sample_losses() = 0;
  /// Backward pass through one bucket. Call it for buckets 0, 1, ... in order, after forward. The last
  /// buckets may be left out: the next forward drops the rest of the pass. On a device
  /// that is not the host, also queues the next bucket's pass, so that the device has work while the rank
  /// waits for this one, and marks the end of this one (ComputeDevice::end_kernel_at).
  virtual void backward(int bucket) = 0;
  /// From now on, `hook` is called for every bucket after its backward pass was queued. The work that it
  /// queues belongs to that pass.
  virtual void after_backward(std::function<void(int bucket)> hook) = 0;
  /// The next forward is that of step number `step`, counted from 0: dropout omits the values of that step.
  virtual void begin_at(std::int64_t step) = 0;
  /// Forwards that were repeated from CUDA graphs (LearnerSetting::graphs).
  virtual std::int64_t repeated_steps() const { return 0; }
  /// Evaluates on records without touching gradient or statistics.
  virtual EvaluationResult evaluate(std::span<const std::byte> records) = 0;
};

/// Model and gradient are in the memory of `device`, which must outlive the learner. Without a GPU the
/// processor computes and must be able to read that memory. Errors: ConfigError for an unknown model or
/// file, an unsupported image shape, or a build without libtorch; WorldError for a GPU that libtorch does
/// not find, NoMemoryError.
std::unique_ptr<Learner> make_learner(const LearnerSetting& setting, ComputeDevice& device);
/// GPUs on which learners can compute; 0 in a build without libtorch, or with one without CUDA.
int learner_gpus();
/// Loads libtorch, which takes a second and would otherwise happen on the first use of a learner or
/// checkpoint. Does nothing in a build without libtorch.
void prepare_learner();
/// Sizes and flops only, derived from the same definition. Those of a TorchScript file need libtorch.
/// Errors: ConfigError as make_learner.
ModelDescription describe_model(const LearnerSetting& setting);

/// A checkpoint file: model name, step, and the flat model.
struct Checkpoint {
  std::string model;
  std::int64_t step = 0;
  std::vector<float> values;
};
/// Writes tensor by tensor, so that other bucket sizes and PyTorch can read it: torch.load(path) is a dict
/// with "model", "step" and "state_dict". Written atomically. Pre: the values are in the layout of `model`.
/// Errors: WorldError when it cannot be written.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint, const ModelDescription& model);
/// The values in the layout of `model`. Of a TorchScript file, those of its tensors of the same names; step
/// 0. Errors: ConfigError when missing, corrupt, or of another model than `model` (naming both).
Checkpoint load_checkpoint(const std::string& path, const ModelDescription& model);

}  // namespace tandem
