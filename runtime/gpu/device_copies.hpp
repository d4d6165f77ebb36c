// Copies between a device's memory and pinned memory of the host while the device computes, with an action
// after each copy. Does not use MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/gpu/shared_device_memory.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Pinned memory of operations in flight, which is reused. `take` never waits: an operation that waited for
/// the memory of another could wait forever.
class PinnedPool {
 public:
  /// Returns to its pool on destruction; the pool must outlive it.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { swap(other); }
    Block& operator=(Block&& other) noexcept {
      Block old(std::move(*this));
      swap(other);
      return *this;
    }
    ~Block() {
      if (memory_ != nullptr) pool_->give_back(memory_, size_);
    }
    bool empty() const { return memory_ == nullptr; }
    std::byte* data() const { return memory_; }
    /// Never returns it, because a device may still use it.
    void abandon() { memory_ = nullptr; }

   private:
    friend class PinnedPool;
    void swap(Block& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(memory_, other.memory_);
      std::swap(size_, other.size_);
    }
    PinnedPool* pool_ = nullptr;
    std::byte* memory_ = nullptr;
    std::size_t size_ = 0;
  };

  /// `most_idle`: bytes that are kept unused. `device` must outlive the pool.
  explicit PinnedPool(ComputeDevice& device, std::size_t most_idle = std::size_t{1} << 30U)
      : device_(device), most_idle_(most_idle) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// A block of at least this many uninitialised bytes. Errors: WorldError when there is no memory. Pre:
  /// positive.
  Block take(std::int64_t bytes);

 private:
  struct Idle {
    std::byte* memory;
    std::size_t size;
  };
  void give_back(std::byte* memory, std::size_t size) noexcept;

  ComputeDevice& device_;
  std::size_t most_idle_;
  std::size_t idle_bytes_ = 0;
  std::size_t blocks_ = 0;  ///< idle or not; `idle_` has capacity for all
  std::vector<Idle> idle_;
};

/// Errors: WorldError from all members when the device fails. `device` must outlive it.
class DeviceCopies {
 public:
  using Then = std::function<void()>;
  /// The destination of a message: messages of one route stay in order.
  struct Route {
    Rank to = 0;
    int tag = 0;
    bool operator==(const Route&) const = default;
  };

  /// A copy that has ended.
  struct Ended {
    bool out;
    std::int64_t bytes;
    OwnedMark begin;
    OwnedMark end;
  };

  explicit DeviceCopies(ComputeDevice& device) : device_(device) {}

  /// `watcher` is called after the end of every copy that is started from now on, in order per direction. An
  /// empty function: no watcher.
  void watch(std::function<void(Ended)> watcher) { watcher_ = std::move(watcher); }

  /// Copies out; calls `then` after the end of the copy and after every earlier `then` of this direction.
  void out(std::byte* pinned, const std::byte* own, std::int64_t bytes, Route route, Then then);
  /// Calls `then` in the same order without a copy, for a message that must not overtake an earlier one of
  /// its route.
  void behind(Route route, Then then);
  /// Whether a copy of this route is still in flight.
  bool is_leaving(Route route) const;
  bool is_leaving() const { return !out_.empty(); }
  /// Copies in, then calls `then`.
  void in(std::byte* own, const std::byte* pinned, std::int64_t bytes, Then then);
  /// The same from opened memory of another process, to own or pinned memory. Pre: `memory` is the device's.
  void in_opened(SharedDeviceMemory& memory, std::byte* to, const std::byte* opened, std::int64_t bytes,
                 Then then);

  bool idle() const { return out_.empty() && in_.empty(); }
  /// Calls `then` for the copies that have ended. True if there was one.
  bool advance();

 private:
  struct Copy {
    Ended copied;  ///< no end: nothing to wait for; no beginning: the watcher is not called
    Route route;
    Then then;
  };
  OwnedMark mark_beginning(bool out);
  void add_in(OwnedMark begin, DeviceMark end, std::int64_t bytes, Then then);
  bool follow(std::deque<Copy>& copies);

  ComputeDevice& device_;
  std::function<void(Ended)> watcher_;
  std::deque<Copy> out_;  ///< in the order in which they were started
  std::deque<Copy> in_;
};

}  // namespace tandem
