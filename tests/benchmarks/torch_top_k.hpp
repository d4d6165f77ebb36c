// libtorch's own selection of the largest, to compare that of a top-k compression with.
#pragma once

#include <cstdint>
#include <functional>

namespace tandem {

/// Queues torch.topk, unsorted, over values in a GPU's memory on libtorch's stream there, which is the
/// queue of a CudaDevice: of the values as they are, or with `magnitudes` of what abs() makes of them, which
/// is what a compression selects by. Keeps the last result. Empty without a libtorch that has CUDA.
std::function<void(bool magnitudes)> make_torch_top_k(int gpu, float* values, std::int64_t count,
                                                      std::int64_t chosen);

}  // namespace tandem
