// Copies between a device's memory and pinned memory of the host, beside what the device computes, and what
// is to follow each of them. Knows nothing of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

/// Pinned memory of whatever is under way, used again and again. There is always some to be had: an operation
/// that waited for the memory of another could wait for ever.
class PinnedPool {
 public:
  /// Goes back to its pool in the end, which must be there still.
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
    /// Never given back, because somebody may still use it.
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

  /// `most_idle`: bytes that are kept while nobody uses them. `device` must outlive the pool.
  explicit PinnedPool(ComputeDevice& device, std::size_t most_idle = std::size_t{1} << 30U)
      : device_(device), most_idle_(most_idle) {}
  ~PinnedPool();
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  /// Of at least so many bytes, which are any. Errors: WorldError when there is no memory. Pre: positive.
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
  std::size_t blocks_ = 0;  ///< idle or not; as many find room in `idle_`
  std::vector<Idle> idle_;
};

/// Errors: WorldError from everything when the device breaks. `device` must outlive it.
class DeviceCopies {
 public:
  using Then = std::function<void()>;
  /// Where something goes: what shares a route keeps its order.
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

  /// Who is told of every copy that is started from now on when it has ended, in their order each way. An
  /// empty one: nobody any more.
  void watch(std::function<void(Ended)> watcher) { watcher_ = std::move(watcher); }

  /// Copies out; `then` follows the end of the copy and every `then` of those that were to go out before.
  void out(std::byte* pinned, const std::byte* own, std::int64_t bytes, Route route, Then then);
  /// The same with nothing to copy, for what must not overtake a copy of its route.
  void behind(Route route, Then then);
  /// Whether something that was to go out on the route has not.
  bool is_leaving(Route route) const;
  bool is_leaving() const { return !out_.empty(); }
  /// Copies in; `then` follows.
  void in(std::byte* own, const std::byte* pinned, std::int64_t bytes, Then then);

  bool idle() const { return out_.empty() && in_.empty(); }
  /// Does what follows the copies that have ended. True if there was one.
  bool advance();

 private:
  struct Copy {
    Ended copied;  ///< no end: nothing to wait for; no beginning: nobody is told
    Route route;
    Then then;
  };
  OwnedMark mark_beginning(bool out);
  bool follow(std::deque<Copy>& copies);

  ComputeDevice& device_;
  std::function<void(Ended)> watcher_;
  std::deque<Copy> out_;  ///< in the order in which they were started
  std::deque<Copy> in_;
};

}  // namespace tandem
