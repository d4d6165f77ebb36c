// Memory of a GPU that other processes of the machine read. CUDA calls this inter-process communication.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "runtime/gpu/device_allocations.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class SharedDeviceMemory {
 public:
  /// With it, another process of the machine opens one allocation, as long as this process exists.
  using Handle = std::array<std::byte, 64>;

  virtual ~SharedDeviceMemory() = default;
  /// The handle of an allocation of this device; none: the driver refuses. From now on the allocation is
  /// freed only with the device. When it is released, it is kept, with its number, for the next allocation
  /// of its size: an opened handle never shows freed memory.
  virtual std::optional<Handle> share(const DeviceAllocation& allocation) = 0;
  /// The first byte of another process's allocation, from which this device can copy; null: the driver
  /// refuses, as for a GPU without a path to this one.
  virtual const std::byte* open(const Handle& handle) = 0;
  /// As ComputeDevice::copy_in, from opened memory. `to`: memory of this device, or pinned memory.
  virtual DeviceMark copy_opened(std::byte* to, const std::byte* opened, std::size_t bytes) = 0;
  /// Pre: `opened` is a result of `open`, and no copy uses it.
  virtual void close(const std::byte* opened) noexcept = 0;
};

}  // namespace tandem
