// Pinned host memory through which messages and sums of device memory pass, and the copies between the two.
// Does not use MPI.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "runtime/gpu/device_clock.hpp"
#include "runtime/gpu/device_copies.hpp"
#include "workloads/context.hpp"

namespace tandem {

class DeviceStaging {
 public:
  /// One copy of a message or a sum, with the times of the device.
  struct Copy {
    bool out;  ///< to the host's memory
    std::int64_t bytes;
    Seconds start;
    Seconds end;
  };

  /// `direct_messages`: MPI reads and writes the device's memory itself. `device` must outlive this object.
  DeviceStaging(ComputeDevice& device, bool direct_messages)
      : device_(device), direct_messages_(direct_messages), pinned_(device), copies_(device) {}

  bool is_of_device(const Slice& slice) const { return device_.owns(slice.data); }
  /// Whether the payload passes through pinned memory. `by_host`: the host copies it, as it copies a payload
  /// that is packed with its envelope; otherwise MPI does.
  bool is_needed(const Slice& slice, bool by_host) const {
    return slice.size > Bytes(0) && (by_host || !direct_messages_) && is_of_device(slice);
  }
  PinnedPool::Block take(std::int64_t bytes) { return pinned_.take(bytes); }
  DeviceCopies& copies() { return copies_; }

  /// Calls `watcher` for every copy after it has ended; an empty function stops this. The time at which a
  /// copy ended is an estimate from the device's clock. `now`: returns the host's time.
  void watch(std::function<void(const Copy&)> watcher, std::function<Seconds()> now);

 private:
  Copy timed(DeviceCopies::Ended copy, Seconds now);

  ComputeDevice& device_;
  bool direct_messages_;
  PinnedPool pinned_;
  DeviceCopies copies_;
  DeviceClock clock_;
  std::array<Seconds, 2> copied_until_{};  ///< in and out
};

}  // namespace tandem
