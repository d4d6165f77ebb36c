// What libtorch takes for the selection of a top-k compression, to compare with.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// Of torch.topk over the magnitudes of values in a GPU's memory, unsorted, `repeats` times, for each. None
/// without a libtorch that has CUDA.
std::optional<Seconds> torch_top_k(ComputeDevice& device, int gpu, float* values, std::int64_t count,
                                   std::int64_t chosen, int repeats);

}  // namespace tandem
