// What a CUDA call says, checked: anything but success becomes a WorldError.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/no_memory.hpp"

namespace tandem {

/// "cudaMalloc on cuda:0: out of memory (cudaErrorMemoryAllocation)" and what more there is to say; a
/// NoMemoryError for that one, `of_host` if that was asked. Takes the error back, so that whoever next asks
/// the same CUDA runtime for its last error does not find this one.
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
