// Real mathematics behind a plain interface: one replica of a model with flat, bucketed parameters and
// gradients. The only implementation uses libtorch and lives beside this file; no libtorch header passes this
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "workloads/dataset.hpp"
#include "workloads/model_description.hpp"

namespace tandem {

class ComputeDevice;

struct EvaluationResult {
  double accuracy = 0.0;  ///< correct / total
  double loss = 0.0;      ///< mean over samples
};

/// One replica. Not thread-safe; several instances coexist. Uses one thread. On a device that is not the
/// host, `load`, `forward` and `backward` only queue what is to be done. Errors: WorldError where the device
/// has no memory for it, from any of them.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual const ModelDescription& description() const = 0;

  /// Flat layout of ModelDescription, `elements()` floats each. Views into the live model, in the device's
  /// memory.
  virtual std::span<float> model() = 0;
  /// Gradient of the mean loss over the batch; the statistics' places hold the current running values after
  /// backward of their bucket.
  virtual std::span<float> gradient() = 0;

  /// Takes a batch of records (Dataset::record_bytes each), which may change afterwards: decodes pixels to
  /// [0, 1] and normalises them.
  virtual void load(std::span<const std::byte> records) = 0;
  /// Forward over the loaded batch, a training step: dropout leaves out other values each time.
  virtual void forward() = 0;
  /// Mean loss of the last forward; waits for that. Pre: there was one.
  virtual double loss() = 0;
  /// Backward through one bucket; call for buckets 0, 1, ... in order, after forward. On a device that is not
  /// the host, also queues the next bucket's, so that the device has work while others wait for this one, and
  /// says where this one's ends (ComputeDevice::end_kernel_at).
  virtual void backward(int bucket) = 0;
  /// `hook` is called for every bucket from now on when its backward is queued, and before it is done: what
  /// it queues belongs to that backward.
  virtual void after_backward(std::function<void(int bucket)> hook) = 0;
  /// The next forward is that of step number `step`, counted from 0: dropout leaves out what it does there.
  virtual void begin_at(std::int64_t step) = 0;
  /// Evaluates on records without touching gradient or statistics.
  virtual EvaluationResult evaluate(std::span<const std::byte> records) = 0;
};

/// How precisely a network computes; parameters, gradients and the loss are fp32 always. tf32: as fp32, but
/// GPUs may round the factors of products to 10 bits. bf16: activations, and what is multiplied, in bf16.
enum class Precision : std::uint8_t { fp32, tf32, bf16 };

struct LearnerSetting {
  std::string model;       ///< a name of model_catalog(), or the path of a TorchScript file
  DatasetInfo dataset;     ///< image shape and classes
  int image_size = 0;      ///< side to which images are scaled for the model; 0: as they are
  Bytes bucket_bytes;      ///< layers are gathered into buckets of at least this size; 0: one bucket
  std::uint64_t seed = 1;  ///< of the initial parameters: the same seed gives the same model everywhere
  int replica = 0;         ///< which worker's: what dropout leaves out depends on it, the seed and the step
  Precision precision = Precision::fp32;
  bool deterministic = true;  ///< the same bits each time on the same device; false: the fastest algorithms
  /// The CUDA device that libtorch computes on, which is that of the compute device; none: the processor.
  std::optional<int> gpu = {};
};

/// Names, summaries and papers of the models; the factory is internal.
const Catalog<int>& model_catalog();
/// The images as the model sees them.
inline DatasetInfo scaled_images(const LearnerSetting& setting) {
  DatasetInfo images = setting.dataset;
  if (setting.image_size > 0) images.height = images.width = setting.image_size;
  return images;
}
/// True for a model that is a TorchScript file.
inline bool is_script(const std::string& model) { return model.ends_with(".pt"); }
/// Model and gradient live in the memory of `device`, which must outlive the learner. Without a GPU the
/// processor computes and must be able to look into that memory.
/// Errors: ConfigError for an unknown model or file, an image shape that it cannot take, or a build without
/// libtorch; WorldError for a GPU that libtorch does not see, NoMemoryError without memory.
std::unique_ptr<Learner> make_learner(const LearnerSetting& setting, ComputeDevice& device);
/// GPUs on which learners can compute; 0 in a build without libtorch, or with one for processors only.
int learner_gpus();
/// Does now what the first use of a learner or a checkpoint does first, which takes a second. In a build
/// without libtorch it does nothing.
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
/// Writes tensor by tensor, so that another cut into buckets reads it, and so does PyTorch: torch.load(path)
/// is a dict with "model", "step" and "state_dict". Written aside and renamed. Pre: the values are in the
/// layout of `model`. Errors: WorldError when it cannot be written.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint, const ModelDescription& model);
/// The values in the layout of `model`.
/// Errors: ConfigError when missing, corrupt, or of another model than `model` (naming both).
Checkpoint load_checkpoint(const std::string& path, const ModelDescription& model);

}  // namespace tandem
