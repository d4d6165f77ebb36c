// The GPUs of this machine. Two implementations, of which a program links one: CUDA's (cuda_gpu.cpp) and that
// of a build without it, where there are none (no_gpu.cpp).
#pragma once

#include <memory>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// GPUs that this process may use; 0 also without a driver, or with one that is too old. Errors: WorldError.
int gpu_count();
/// Pre: less than gpu_count(). Errors: WorldError.
std::unique_ptr<ComputeDevice> make_gpu(int number);

}  // namespace tandem
