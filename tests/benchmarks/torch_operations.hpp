// Operations of libtorch on a GPU: the selection of the largest values, to compare with top-k compression,
// and a convolution, to run while something else is measured.
#pragma once

#include <cstdint>
#include <functional>

namespace tandem {

/// Queues torch.topk, unsorted, over values in the memory of a GPU in its `stream` (CUDA's handle).
/// `magnitudes`: over the absolute values, by which compression selects. Keeps the last result. Empty if
/// libtorch has no CUDA.
std::function<void(bool magnitudes)> make_torch_top_k(int gpu, void* stream, float* values,
                                                      std::int64_t count, std::int64_t chosen);

/// Queues a convolution in bf16 as in the third stage of a ResNet-50 (64 images of 28 x 28, 256 channels,
/// 3 x 3) in the `stream` of a GPU. Keeps the last result. Empty if libtorch has no CUDA.
std::function<void()> make_torch_convolution(int gpu, void* stream);

}  // namespace tandem
