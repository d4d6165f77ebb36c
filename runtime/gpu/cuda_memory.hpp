// The memory of one user of a GPU: on the GPU, and pinned on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/gpu/cuda_stream.hpp"
#include "runtime/gpu/device_allocations.hpp"

namespace tandem {

/// Memory that is released while an exception is in flight is freed later: freeing waits for all work of the
/// GPU, which may wait for other ranks. The GPU is the current one in all calls, except of release().
class CudaMemory {
 public:
  /// `streams` must outlive this.
  CudaMemory(int gpu, const CudaStreams& streams) : gpu_(gpu), streams_(streams) {}
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory();

  /// Filled with zeros; null for no bytes, as of allocate_pinned(). `free_cache`: see
  /// ComputeDevice::free_cache. Errors: WorldError, NoMemoryError.
  std::byte* allocate(std::size_t bytes, const std::function<bool()>& free_cache);
  std::byte* allocate_pinned(std::size_t bytes);
  /// Releases memory of either kind.
  void release(std::byte* memory) noexcept;

  /// As DeviceAllocations.
  std::optional<DeviceAllocation> allocation_of(const void* memory) const;
  void watch(std::weak_ptr<AllocationWatcher> watcher);
  /// Other processes read the allocation: from now on, it is freed last (SharedDeviceMemory::share).
  void keep_to_the_end(const DeviceAllocation& allocation) { ranges_.at(allocation.begin).is_shared = true; }

 private:
  struct Range {
    std::size_t bytes;
    bool is_pinned;
    std::uint64_t number = 0;  ///< of device memory
    bool is_released = false;  ///< but not freed yet
    bool is_shared = false;    ///< with other processes
  };
  void free(std::byte* memory, const Range& range) noexcept;
  void free_released(bool also_shared = false) noexcept;
  std::byte* take_kept(std::size_t bytes);
  void clear(std::byte* memory, std::size_t bytes);

  int gpu_;
  const CudaStreams& streams_;
  std::map<std::byte*, Range, std::less<>> ranges_;  ///< all memory, by its first byte
  bool has_released_ = false;                        ///< some of it is not freed yet
  std::uint64_t allocations_ = 0;                    ///< of device memory, so far
  std::vector<std::weak_ptr<AllocationWatcher>> watchers_;
};

}  // namespace tandem
