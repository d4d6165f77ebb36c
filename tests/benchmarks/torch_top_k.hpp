// libtorch's selection of the largest values, to compare with top-k compression.
#pragma once

#include <cstdint>
#include <functional>

namespace tandem {

/// Queues torch.topk, unsorted, over values in the memory of a GPU in its `stream` (CUDA's handle).
/// `magnitudes`: over the absolute values, by which compression selects. Keeps the last result. Empty if
/// libtorch has no CUDA.
std::function<void(bool magnitudes)> make_torch_top_k(int gpu, void* stream, float* values,
                                                      std::int64_t count, std::int64_t chosen);

}  // namespace tandem
