// Streams of CUDA that wait for no other stream, by urgency.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/gpu/cuda_check.hpp"

namespace tandem {

/// The GPU prefers the work of urgent streams whenever a part of it becomes free, so that communication
/// does not queue behind the blocks of a long convolution.
enum class Urgency { computing, communication };

/// A new stream of `gpu`, which is the current one. Errors: WorldError.
inline cudaStream_t make_stream(int gpu, Urgency urgency) {
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange", gpu);
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                          urgency == Urgency::computing ? least : greatest),
             "cudaStreamCreateWithPriority", gpu);
  return stream;
}

}  // namespace tandem
