// Owners of what a compute device hands out and wants back: marks, and memory that copies go through. May
// not know CUDA.
#pragma once

#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

/// A mark that is forgotten once, or none.
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

  /// Returns once the device has reached it, and forgets it; at once when there is none.
  void await() {
    if (!mark_) return;
    while (!device_->has_reached(*mark_)) std::this_thread::yield();
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

/// Host memory that a device copies fast, or none.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(ComputeDevice& device, std::size_t bytes)
      : device_(&device), data_(device.allocate_pinned(bytes)), bytes_(bytes) {}
  PinnedMemory(PinnedMemory&& other) noexcept { swap(other); }
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PinnedMemory() {
    if (data_ != nullptr) device_->release_pinned(data_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  void swap(PinnedMemory& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  ComputeDevice* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tandem
