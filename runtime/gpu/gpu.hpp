// The GPUs of this machine. Two implementations, of which a program links one: CUDA's (cuda_device.cpp,
// cuda_gpu.cpp) and that of a build without it, where there are none (no_gpu.cpp).
#pragma once

#include <memory>
#include <string>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

struct Gpus {
  int count = 0;
  std::string why_none = {};  ///< in words, where the count is 0
};

/// GPUs that this process may use. Errors: WorldError when CUDA neither counts them nor says why there are
/// none.
Gpus visible_gpus();
/// Pre: less than their count. Errors: WorldError.
std::unique_ptr<ComputeDevice> make_gpu(int number);

}  // namespace tandem
