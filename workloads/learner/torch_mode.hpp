// How libtorch computes: device, precision, reproducibility. Code that depends on the version of libtorch is
// here and in step_graphs.cpp.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>

#include <cstdint>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// Makes libtorch compute in the calling thread only, in the whole process. Call it before its first
/// computation.
void use_one_thread();

/// The device on which libtorch computes. Errors: WorldError for a GPU that it does not have.
at::Device torch_device(const LearnerSetting& setting);

/// During its lifetime, work of libtorch that this thread starts on the GPU `device` runs in `stream`,
/// CUDA's handle. With a null handle, or on the processor, nothing changes.
class StreamInUse {
 public:
  StreamInUse(at::Device device, void* stream);

 private:
  c10::OptionalStreamGuard guard_;
};

/// Gives GPU memory that libtorch keeps for later tensors back to CUDA. Does nothing in a libtorch without
/// CUDA.
void empty_libtorch_cache();

/// Multiplies and differentiates on the device, so that cuBLAS allocates its own memory before training has
/// filled that of the GPU: cuBLAS cannot use memory that libtorch keeps for later tensors. Does nothing on
/// the processor. Call it in the thread that computes.
void make_library_handles(at::Device device);

/// A tensor over memory that it does not own.
at::Tensor tensor_over(void* data, at::IntArrayRef shape, at::ScalarType type, at::Device device);

/// Seeds libtorch's own random numbers on a device.
void seed_libtorch(at::Device device, std::uint64_t seed);

/// Settings of the whole process. Apply them before each computation of a learner, because another learner
/// may have changed them.
struct TorchMode {
  at::Device device;
  Precision precision;
  bool deterministic;

  void apply() const;
};

/// During its lifetime, this thread's forward passes on the mode's device compute in bf16 if that is the
/// mode's precision; parameters and loss keep their type. Not for backward.
class Autocast {
 public:
  explicit Autocast(const TorchMode& mode);
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;
  ~Autocast();

 private:
  at::DeviceType device_;
  bool active_;
  bool was_enabled_ = false;
  at::ScalarType type_before_ = at::kFloat;
};

}  // namespace tandem
