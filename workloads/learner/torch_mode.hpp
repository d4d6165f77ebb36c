// How libtorch computes: on which device, how precisely, how reproducibly. What differs between versions of
// libtorch is known here alone.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "workloads/learner/learner.hpp"

namespace tandem {

/// Keeps libtorch to the thread that calls it, in the whole process. Before its first computation.
void use_one_thread();

/// Where libtorch computes. Errors: WorldError for a GPU that it does not have.
at::Device torch_device(const LearnerSetting& setting);

/// A tensor over somebody else's memory.
at::Tensor tensor_over(void* data, at::IntArrayRef shape, at::ScalarType type, at::Device device);

/// Numbers that libtorch itself draws on a device are those of a seed from here on.
void seed_libtorch(at::Device device, std::uint64_t seed);

/// Settings of the whole process: to be applied before whatever a learner computes, since another learner may
/// have others.
struct TorchMode {
  at::Device device;
  Precision precision;
  bool deterministic;

  void apply() const;
};

/// While it lives, this thread's forward passes on the mode's device are computed in bf16 if that is its
/// precision, with parameters and loss as they are. Not for backward.
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
