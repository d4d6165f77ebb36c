// The machine's GPU for tests that need one, or the reason why there is none.
#pragma once

#include <ATen/Context.h>

#include <memory>
#include <string>

#include "runtime/gpu/gpu.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {

struct Gpu {
  std::unique_ptr<ComputeDevice> device;  ///< null if there is none
  std::string reason;                     ///< why there is none
};

/// The first GPU. Null unless this build has CUDA kernels, libtorch has CUDA, and the machine has a GPU.
inline Gpu find_gpu() {
  if (!at::hasCUDA()) return {nullptr, "this libtorch is for the processor only"};
  if (const Gpus there = visible_gpus(); there.count == 0) return {nullptr, there.why_none};
  if (at::getNumGPUs() == 0) return {nullptr, "libtorch finds no GPU"};
  return {make_gpu(0), ""};
}

}  // namespace tandem::testing
