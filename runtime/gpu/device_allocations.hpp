// The allocations of a device's memory, for code that keeps data about one of them, such as its registration
// with a library. That code has to give the data up before the memory is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace tandem {

struct DeviceAllocation {
  std::uint64_t number;  ///< among all allocations of the device, from 1; unlike an address, never used again
  std::byte* begin;
  std::size_t bytes;
};

class AllocationWatcher {
 public:
  virtual ~AllocationWatcher() = default;
  /// Called immediately before an allocation is freed. Work of the device may still use the memory only if
  /// freeing waits for this work.
  virtual void before_free(const DeviceAllocation& allocation) noexcept = 0;
};

class DeviceAllocations {
 public:
  virtual ~DeviceAllocations() = default;
  /// The allocation of device memory that contains this byte; none if it is not in use.
  virtual std::optional<DeviceAllocation> allocation_of(const void* memory) const = 0;
  /// Notifies the watcher of every allocation of device memory that is freed while the watcher exists.
  virtual void watch(std::weak_ptr<AllocationWatcher> watcher) = 0;
};

}  // namespace tandem
