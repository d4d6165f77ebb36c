// The GPU of the machine for tests that need one, or why there is none.
#pragma once

#include <ATen/Context.h>

#include <memory>
#include <string>

#include "workloads/vectors/compute_device.hpp"
#ifdef TANDEM_TEST_GPU
#include "runtime/cuda_device.hpp"
#endif

namespace tandem::testing {

struct Gpu {
  std::unique_ptr<ComputeDevice> device;  ///< null: there is none
  std::string reason;                     ///< why
};

/// The first GPU. Null unless this build has CUDA kernels, libtorch has CUDA, and the machine has a GPU.
inline Gpu find_gpu() {
#ifdef TANDEM_TEST_GPU
  if (!at::hasCUDA()) return {nullptr, "this libtorch is for the processor only"};
  if (at::getNumGPUs() == 0 || gpu_count() == 0) return {nullptr, "no GPU"};
  return {std::make_unique<CudaDevice>(0), ""};
#else
  return {nullptr, "built without CUDA"};
#endif
}

}  // namespace tandem::testing
