// What the parts of the emulation share: the memory, streams and settings of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "cuda_on_host.hpp"

namespace tandem::cuda_on_host {

constexpr std::align_val_t alignment{256};
struct Range {
  std::size_t bytes;
  int device;
  std::uint64_t number;
  bool is_mapped = false;  ///< whole pages, which other processes can map as well when they are in a file
  int file = -1;
};
struct Failing {
  int in;  ///< number of calls until the failure
  cudaError_t error;
};

struct World {
  std::mutex mutex;
  Settings settings = settings_of_environment();
  std::map<std::string, int> calls;
  std::map<int, int> launches;
  std::map<std::string, Failing> failing;
  std::map<const std::byte*, Range> device_ranges;
  std::map<const std::byte*, Range> pinned_ranges;
  std::map<const std::byte*, Range> opened_ranges;  ///< device memory of other processes
  std::uint64_t ranges = 0;                         ///< made so far
  std::vector<CUstream_st*> streams;
  int events = 0;
};
World& world();

extern thread_local int current_device;
/// Keeps an error as the last one.
cudaError_t said(cudaError_t error);

/// Pages of a file, or of none (-1). Throws std::bad_alloc.
std::byte* map_memory(std::size_t bytes, int file);
void wait_for_streams();
/// Waits for the streams, as CUDA does.
cudaError_t free_range(std::map<const std::byte*, Range>& ranges, void* memory);

}  // namespace tandem::cuda_on_host

// Start of every call: counts it, and makes it fail if requested.
#define TANDEM_BEGIN_CALL() \
  if (const cudaError_t error = begin_call(__func__); error != cudaSuccess) return error
