// A training loop of a ResNet in plain libtorch, as a user of PyTorch would write it following PyTorch's
// advice on speed: the learner's benchmarks compare a worker with it. It knows neither buckets nor messages.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/learner_loop.hpp"
#include "workloads/learner/torch_mode.hpp"

namespace tandem {

/// Batches on their way to the device. On a GPU, the next batch goes through pinned memory and a stream of
/// its own while the GPU computes.
class BatchPrefetch {
 public:
  /// `batch_bytes`: of each batch.
  BatchPrefetch(at::Device device, std::int64_t samples, std::int64_t batch_bytes);
  ~BatchPrefetch();
  BatchPrefetch(const BatchPrefetch&) = delete;
  BatchPrefetch& operator=(const BatchPrefetch&) = delete;

  /// Starts to copy. Pre: the device has ended its work on the batch before the last.
  void begin(Records records);
  /// The batch that begin() got last, on the device, as rows of bytes: work that is queued from now on sees
  /// all of it.
  at::Tensor take();

 private:
  struct Queue;  // of copies to a GPU
  struct Slot {
    at::Tensor staged;  ///< on the host
    at::Tensor batch;   ///< on the device; on a processor the same memory
  };
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
  std::unique_ptr<Queue> queue_;  ///< null on a processor
};

enum class TensorLayout { contiguous, channels_last };

/// SGD with momentum and the hyperparameters of LearnerLoop, by libtorch's fused kernel where this libtorch
/// has it (2.3 or newer), else by one call per term for all parameters.
class BareResNet {
 public:
  /// Starts with the model of `other`, on `other_device`. `samples`: of each batch.
  BareResNet(const LearnerSetting& setting, Learner& other, ComputeDevice& other_device, std::int64_t samples,
             TensorLayout layout);

  /// Trains on the batch of the previous call while it copies this one; the first call trains on its own
  /// batch. Returns the loss, for which it waits.
  double step(Records next);

  /// The parameter of that name. Errors: std::out_of_range.
  const at::Tensor& tensor(const std::string& name) const { return tensors_.at(name); }

 private:
  void update();

  LearnerSetting setting_;
  TorchMode mode_;
  std::int64_t samples_;
  TensorLayout layout_;
  BatchPrefetch batches_;
  bool has_batch_ = false;
  bool first_update_ = true;
  std::map<std::string, at::Tensor> tensors_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> velocities_;
};

}  // namespace tandem
