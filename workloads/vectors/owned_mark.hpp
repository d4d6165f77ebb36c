// Owns a mark of a compute device. Includes no header of CUDA.
#pragma once

#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// A mark, which the destructor forgets, or none. Its device must outlive it.
class OwnedMark {
 public:
  OwnedMark() = default;
  OwnedMark(ComputeDevice& device, DeviceMark mark) : device_(&device), mark_(mark) {}
  OwnedMark(OwnedMark&& other) noexcept
      : device_(other.device_), mark_(std::exchange(other.mark_, std::nullopt)) {}
  OwnedMark& operator=(OwnedMark&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(mark_, other.mark_);
    other.forget();
    return *this;
  }
  ~OwnedMark() { forget(); }

  explicit operator bool() const { return mark_.has_value(); }
  /// Pre: there is one.
  bool is_reached() const { return device_->has_reached(*mark_); }
  /// The device's own time from `begin`, a mark of the same device. Pre: both are reached.
  Seconds since(const OwnedMark& begin) const { return device_->between(*begin.mark_, *mark_); }
  /// Waits until the device has reached the mark, and forgets it; returns immediately if there is none.
  void await() {
    if (!mark_) return;
    while (!is_reached()) std::this_thread::yield();
    forget();
  }
  /// The same, before the release of memory that a copy needs. A device that failed does not copy any more.
  void await_end() noexcept {
    try {
      await();
    } catch (const WorldError&) {
      forget();
    }
  }
  /// Releases the mark to the caller, who has to forget it. Pre: there is one.
  DeviceMark give_away() { return *std::exchange(mark_, std::nullopt); }

 private:
  void forget() noexcept {
    if (mark_) device_->forget(*std::exchange(mark_, std::nullopt));
  }
  ComputeDevice* device_ = nullptr;
  std::optional<DeviceMark> mark_;
};

/// A copy that is complete when this returns, as is all earlier work of the queue in use. Does not wait for
/// other queues of the device.
inline void copy_and_await(ComputeDevice& device, void* to, const void* from, std::size_t bytes) {
  device.copy(to, from, bytes);
  OwnedMark(device, device.mark()).await();
}

}  // namespace tandem
