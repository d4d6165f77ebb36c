#include "runtime/gpu/cuda_memory.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <utility>

#include "runtime/gpu/cuda_check.hpp"

namespace tandem {
namespace {

std::string describe_memory(std::size_t wanted) {
  std::size_t free = 0;
  std::size_t total = 0;
  std::string text = "; requested " + std::to_string(wanted) + " bytes";
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return text;
  return text + ", " + std::to_string(free) + " of " + std::to_string(total) + " are free";
}

}  // namespace

CudaMemory::~CudaMemory() {
  has_released_ = true;
  free_released(/*also_shared=*/true);
}

std::byte* CudaMemory::allocate(std::size_t bytes, const std::function<bool()>& free_cache) {
  if (bytes == 0) return nullptr;
  free_released();
  if (std::byte* const kept = take_kept(bytes); kept != nullptr) return kept;
  void* memory = nullptr;
  cudaError_t error = cudaMalloc(&memory, bytes);
  if (error == cudaErrorMemoryAllocation && free_cache()) {
    static_cast<void>(cudaGetLastError());
    error = cudaMalloc(&memory, bytes);
  }
  if (error != cudaSuccess) fail_cuda(error, "cudaMalloc", gpu_, describe_memory(bytes));
  auto* const own = static_cast<std::byte*>(memory);
  ranges_.emplace(own, Range{bytes, /*is_pinned=*/false, ++allocations_});
  clear(own, bytes);
  return own;
}

/// Not in the first queue, which may be long: concurrent copies may write the memory immediately.
void CudaMemory::clear(std::byte* memory, std::size_t bytes) {
  cudaError_t cleared = cudaMemsetAsync(memory, 0, bytes, streams_.second());
  if (cleared == cudaSuccess) cleared = cudaStreamSynchronize(streams_.second());
  if (cleared == cudaSuccess) return;
  release(memory);
  fail_cuda(cleared, "cudaMemsetAsync", gpu_);
}

/// Shared memory of this size that was released; null: there is none.
std::byte* CudaMemory::take_kept(std::size_t bytes) {
  const auto kept = std::ranges::find_if(ranges_, [bytes](const auto& item) {
    return item.second.is_shared && item.second.is_released && item.second.bytes == bytes;
  });
  if (kept == ranges_.end()) return nullptr;
  // Freeing it would have waited for the work that may still use it.
  streams_.finish();
  kept->second.is_released = false;
  clear(kept->first, bytes);
  return kept->first;
}

void CudaMemory::release(std::byte* memory) noexcept {
  if (memory == nullptr) return;
  const auto found = ranges_.find(memory);
  if (std::uncaught_exceptions() > 0 || found->second.is_shared) {
    found->second.is_released = has_released_ = true;
    return;
  }
  static_cast<void>(cudaSetDevice(gpu_));
  free(memory, found->second);
  ranges_.erase(found);
}

void CudaMemory::free(std::byte* memory, const Range& range) noexcept {
  if (range.is_pinned) {
    static_cast<void>(cudaFreeHost(memory));
    return;
  }
  for (const auto& watcher : watchers_)
    if (const auto present = watcher.lock()) present->before_free({range.number, memory, range.bytes});
  static_cast<void>(cudaFree(memory));
}

void CudaMemory::free_released(bool also_shared) noexcept {
  if (!std::exchange(has_released_, false)) return;
  std::erase_if(ranges_, [&](const auto& item) {
    const bool is_freed = item.second.is_released && (also_shared || !item.second.is_shared);
    if (is_freed) free(item.first, item.second);
    return is_freed;
  });
}

std::optional<DeviceAllocation> CudaMemory::allocation_of(const void* memory) const {
  const auto* const place = static_cast<const std::byte*>(memory);
  const auto after = ranges_.upper_bound(place);
  if (place == nullptr || after == ranges_.begin()) return std::nullopt;
  const auto& [begin, range] = *std::prev(after);
  if (range.is_pinned || range.is_released || place >= begin + range.bytes) return std::nullopt;
  return DeviceAllocation{range.number, begin, range.bytes};
}

void CudaMemory::watch(std::weak_ptr<AllocationWatcher> watcher) {
  std::erase_if(watchers_, [](const auto& other) { return other.expired(); });
  watchers_.push_back(std::move(watcher));
}

std::byte* CudaMemory::allocate_pinned(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  free_released();
  void* memory = nullptr;
  const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (error != cudaSuccess)
    fail_cuda(error, "cudaHostAlloc", gpu_, "; requested " + std::to_string(bytes) + " bytes of host memory",
              /*of_host=*/true);
  std::memset(memory, 0, bytes);
  ranges_.emplace(static_cast<std::byte*>(memory), Range{bytes, /*is_pinned=*/true});
  return static_cast<std::byte*>(memory);
}

}  // namespace tandem
