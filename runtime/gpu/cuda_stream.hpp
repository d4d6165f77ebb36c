// Streams of CUDA that wait for no other stream, by urgency.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

#include "runtime/gpu/cuda_check.hpp"

namespace tandem {

/// The GPU starts the work of urgent streams first whenever a part of it becomes free. So communication does
/// not wait for all blocks of a long convolution.
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

/// The streams of one device. Their destruction ignores errors of a broken GPU: the call that broke it has
/// reported one.
class CudaStreams {
 public:
  /// Pre: `gpu` is the current one, here and at the end. Errors: WorldError.
  explicit CudaStreams(int gpu) : gpu_(gpu) {}

  cudaStream_t first() const { return first_.get(); }
  cudaStream_t second() const { return second_.get(); }
  /// For copies outside the queues.
  cudaStream_t out() const { return out_.get(); }
  cudaStream_t in() const { return in_.get(); }
  /// Waits for all work of all streams. Pre: the GPU is the current one.
  void finish() const {
    for (const cudaStream_t stream : {first(), second(), out(), in()})
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize", gpu_);
  }

 private:
  struct Destroys {
    void operator()(cudaStream_t stream) const noexcept { static_cast<void>(cudaStreamDestroy(stream)); }
  };
  using Owned = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroys>;

  int gpu_;
  Owned first_{make_stream(gpu_, Urgency::computing)};
  Owned second_{make_stream(gpu_, Urgency::communication)};
  Owned out_{make_stream(gpu_, Urgency::communication)};
  Owned in_{make_stream(gpu_, Urgency::communication)};
};

}  // namespace tandem
