// The GPUs of this machine. A program links one of two implementations: the one with CUDA (cuda_device.cpp,
// cuda_gpu.cpp), or the one for builds without CUDA, which finds no GPU (no_gpu.cpp).
#pragma once

#include <memory>
#include <string>

#include "policies/vocabulary/units.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

struct Gpus {
  int count = 0;
  std::string why_none = {};  ///< the reason if the count is 0
};

/// GPUs that this process may use. Errors: WorldError when CUDA neither counts them nor gives a reason
/// why there are none.
Gpus visible_gpus();
/// Pre: `number` is less than their count. Errors: WorldError.
std::unique_ptr<ComputeDevice> make_gpu(int number);
/// All memory of the GPU, also the memory in use. Pre and errors: as make_gpu.
Bytes gpu_memory(int number);
/// Its PCI address, "0000:65:00.0": the driver's name for the GPU, which does not depend on
/// CUDA_VISIBLE_DEVICES. Pre and errors: as make_gpu.
std::string gpu_address(int number);

}  // namespace tandem
