// The parts of CUDA's language that kernels use, on the host: qualifiers, built-in variables, barriers, warp
// votes, atomics and the typed launch. Complements cuda_runtime_api.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <tuple>
#include <utility>

#include "cuda_runtime_api.h"

// NOLINTBEGIN: CUDA's names.
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
// One host thread runs its blocks one after the other, so they can share the variable.
#define __shared__ static thread_local

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned width = 1) : x(width) {}
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local uint3 threadIdx;
inline thread_local uint3 blockIdx;
inline thread_local dim3 blockDim;
inline thread_local dim3 gridDim;

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

namespace tandem::cuda_on_host {
/// Waits for all threads of the block. The source location identifies the barrier.
void block_barrier(const char* file, int line);
/// Waits for all lanes of the warp. Pre: a full mask.
unsigned warp_ballot(unsigned mask, bool vote, const char* file, int line);
cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread);
}  // namespace tandem::cuda_on_host

#define __syncthreads() ::tandem::cuda_on_host::block_barrier(__FILE__, __LINE__)
#define __ballot_sync(mask, vote) ::tandem::cuda_on_host::warp_ballot(mask, (vote) != 0, __FILE__, __LINE__)

template <class... Wanted, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Wanted...),
                               Given&&... given) {
  const std::tuple<Wanted...> arguments(std::forward<Given>(given)...);
  return tandem::cuda_on_host::launch(*config, [kernel, arguments] { std::apply(kernel, arguments); });
}

template <class Function>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function* function) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
// Blocks run one after the other.
inline void __threadfence() {}
[[noreturn]] inline void __trap() { std::abort(); }

// Threads of a block switch only at barriers and votes, never within these.
template <class T>
T atomicAdd(T* place, T more) {
  return std::exchange(*place, static_cast<T>(*place + more));
}
template <class T>
T atomicMin(T* place, T other) {
  return std::exchange(*place, other < *place ? other : *place);
}
// NOLINTEND
