// Owns a mark that a compute device hands out and wants back. May not know CUDA.
#pragma once

#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// A mark that is forgotten once, or none. Its device must outlive it.
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
  /// Returns once the device has reached it, and forgets it; at once when there is none.
  void await() {
    if (!mark_) return;
    while (!is_reached()) std::this_thread::yield();
    forget();
  }
  /// The same before memory goes that a copy still needs. A device that broke copies no more.
  void await_end() noexcept {
    try {
      await();
    } catch (const WorldError&) {
      forget();
    }
  }
  /// Hands it to somebody else, who forgets it. Pre: there is one.
  DeviceMark give_away() { return *std::exchange(mark_, std::nullopt); }

 private:
  void forget() noexcept {
    if (mark_) device_->forget(*std::exchange(mark_, std::nullopt));
  }
  ComputeDevice* device_ = nullptr;
  std::optional<DeviceMark> mark_;
};

/// For what is read, or goes, right after the copy: it is done when this returns, and so is all before it in
/// the queue in use. What the device has to do in other queues is not waited for.
inline void copy_and_await(ComputeDevice& device, void* to, const void* from, std::size_t bytes) {
  device.copy(to, from, bytes);
  OwnedMark(device, device.mark()).await();
}

}  // namespace tandem
