// Runs the computations of one learner by libtorch on a compute device: in the device's queue, in the
// learner's mode, a second time where memory is lacking. Reports a lack of memory in the user's terms.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <span>

#include "workloads/learner/learner.hpp"
#include "workloads/learner/torch_mode.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class TorchRunner {
 public:
  /// `compute_device` must outlive this. Errors: WorldError for a GPU that libtorch does not find.
  TorchRunner(const LearnerSetting& setting, ComputeDevice& compute_device);

  const LearnerSetting& setting() const { return setting_; }
  const TorchMode& mode() const { return mode_; }
  at::Device device() const { return mode_.device; }
  ComputeDevice& compute_device() const { return compute_device_; }

  /// Runs `work`. Every computation of libtorch for the learner goes through this function. `images`: the
  /// batch size.
  void compute(std::int64_t images, const std::function<void()>& work) const;
  /// Does `work`, which may lack memory for this many images.
  void within_memory(std::int64_t images, const std::function<void()>& work) const;
  /// Whether a pass that lacks memory may be computed again.
  bool may_try_twice() const { return !compute_device_.is_host(); }
  /// Runs `work`. If it lacks memory, or may lack it, frees the memory that libtorch keeps for later
  /// tensors, and runs it again. `undo` releases and restores the state of the first attempt. Pre: the
  /// input of `work` is unchanged when it fails. Only libtorch's own allocations use the memory that it
  /// keeps, not those of its libraries.
  void try_twice(
      const std::function<void()>& work, const std::function<void()>& undo = [] {}) const;
  /// Copies gradients to their windows, by one operation of the device where it can order their channels.
  void copy_gradients(std::span<const at::Tensor> windows, std::span<const at::Tensor> gradients) const;

 private:
  void wait_for_device() const;

  LearnerSetting setting_;
  ComputeDevice& compute_device_;
  TorchMode mode_;
};

/// Whether the device lacks memory, for libtorch or for a library that it uses (cuBLAS, cuDNN).
bool lacks_memory(const std::exception& error);

}  // namespace tandem
