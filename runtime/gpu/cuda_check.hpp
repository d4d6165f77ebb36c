// Checks the result of a CUDA call: everything but success becomes a WorldError.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/no_memory.hpp"

namespace tandem {

/// Throws "cudaMalloc on cuda:0: out of memory (cudaErrorMemoryAllocation)" and `more`: a NoMemoryError for
/// this error, with `of_host` if host memory was requested. Clears the error, so that another user of the
/// same CUDA runtime does not find it as the last error.
[[noreturn]] inline void fail_cuda(cudaError_t error, const char* call, int gpu, const std::string& more = {},
                                   bool of_host = false) {
  static_cast<void>(cudaGetLastError());
  const std::string text = std::string(call) + " on cuda:" + std::to_string(gpu) + ": " +
                           cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ')' + more;
  if (error == cudaErrorMemoryAllocation) throw NoMemoryError(text, of_host);
  throw WorldError(text);
}

inline void check_cuda(cudaError_t error, const char* call, int gpu) {
  if (error != cudaSuccess) [[unlikely]]
    fail_cuda(error, call, gpu);
}

}  // namespace tandem
