// A device other than the host, without any GPU: its memory is mapped only for the device itself, its queue
// and its copies each run on a separate thread with seeded delays, and it counts unreleased resources.
// Reading its memory from outside crashes; code that does not wait sees old values. Other processes can open
// its memory, as they open that of a GPU.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>

#include "policies/vocabulary/rng.hpp"
#include "runtime/gpu/shared_device_memory.hpp"
#include "tests/support/queued_device.hpp"

namespace tandem::testing {

/// Executes operations in order, some of them late. Used by one thread.
class LateWorker {
 public:
  LateWorker(std::uint64_t seed, std::uint64_t number)
      : rng_(Rng::stream(seed, "late", number)), thread_([this] { run(); }) {}
  ~LateWorker() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  LateWorker(const LateWorker&) = delete;
  LateWorker& operator=(const LateWorker&) = delete;

  void add(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
      ++open_;
    }
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void run() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
      if (work_.empty()) return;
      const auto work = std::move(work_.front());
      work_.pop_front();
      const auto delay = rng_.below(4) == 0 ? rng_.below(300) : 0;
      lock.unlock();
      if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
      work();
      lock.lock();
      --open_;
      changed_.notify_all();
    }
  }

  Rng rng_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  int open_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

class DelayedDevice final : public QueuedDevice, public DeviceAllocations, public SharedDeviceMemory {
 public:
  /// Resources that have not been released.
  struct Live {
    std::size_t blocks = 0;
    std::size_t pinned = 0;
    std::size_t marks = 0;
    bool operator==(const Live&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const Live& live) {
      return out << live.blocks << " blocks, " << live.pinned << " pinned blocks, " << live.marks << " marks";
    }
  };

  /// `is_open`: its memory can be accessed from outside, as by an MPI that reads GPU memory.
  explicit DelayedDevice(std::uint64_t seed, bool is_open = false)
      : is_open_(is_open), queue_(seed, 0), second_(seed, 3), outward_(seed, 1), inward_(seed, 2) {}
  ~DelayedDevice() override {
    finish_all();
    for (const Blocks* all : {&blocks_, &kept_})
      for (const auto& [memory, block] : *all) unmap(memory, block);
    for (const auto& [memory, size] : pinned_) host_device().release_pinned(const_cast<std::byte*>(memory));
  }

  Live live() const { return {blocks_.size(), pinned_.size(), marks_.size()}; }
  /// Releases of unknown blocks and marks, and concurrent copies of unsuitable memory.
  int misuses() const { return misuses_; }
  /// Number of copies concurrent with the queue.
  int copies() const { return copies_; }
  void queue(std::function<void()> work) override { in_use_->add(std::move(work)); }
  void queue_pause(Seconds duration) {
    in_use_->add(
        [duration] { std::this_thread::sleep_for(std::chrono::duration<double>(duration.count())); });
  }

  std::string name() const override { return "delayed"; }

  std::byte* allocate(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    if (std::byte* const kept = take_kept(bytes); kept != nullptr) return kept;
    const int file = memfd_create("device", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
    const int access = is_open_ ? PROT_READ | PROT_WRITE : PROT_NONE;
    void* const shown = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
    void* const own = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shown == MAP_FAILED || own == MAP_FAILED) throw std::bad_alloc();
    blocks_[static_cast<std::byte*>(shown)] = {static_cast<std::byte*>(own), bytes, file, ++allocations_};
    return static_cast<std::byte*>(shown);
  }
  void release(std::byte* memory) noexcept override {
    if (memory == nullptr) return;
    finish_all();
    const auto found = blocks_.find(memory);
    if (found == blocks_.end()) {
      ++misuses_;
      return;
    }
    if (found->second.is_shared)
      kept_.insert(*found);
    else
      unmap(memory, found->second);
    blocks_.erase(found);
  }
  std::optional<DeviceAllocation> allocation_of(const void* memory) const override {
    const auto block = block_of(memory);
    if (block == blocks_.end()) return std::nullopt;
    return DeviceAllocation{block->second.number, const_cast<std::byte*>(block->first), block->second.size};
  }
  /// It frees nothing that a watcher knows of.
  void watch(std::weak_ptr<AllocationWatcher>) override {}

  /// False: as a driver that shares no memory.
  void set_shareable(bool is_shareable) { is_shareable_ = is_shareable; }
  /// True: copies of opened memory bring other bytes, as behind a bridge that redirects them.
  void set_garbling(bool is_garbling) { is_garbling_ = is_garbling; }
  /// Copies out of memory that other processes have.
  int opened_copies() const { return opened_copies_; }
  /// Counts copies from now on.
  void forget_copies() { copies_ = opened_copies_ = 0; }
  std::optional<Handle> share(const DeviceAllocation& allocation) override {
    if (!is_shareable_) return std::nullopt;
    Block& block = blocks_.at(allocation.begin);
    block.is_shared = true;
    const Shared own{getpid(), block.file, block.size};
    Handle handle{};
    std::memcpy(handle.data(), &own, sizeof own);
    return handle;
  }
  const std::byte* open(const Handle& handle) override {
    Shared other;
    std::memcpy(&other, handle.data(), sizeof other);
    if (other.process == getpid()) return nullptr;
    const std::string path = "/proc/" + std::to_string(other.process) + "/fd/" + std::to_string(other.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory = mmap(nullptr, other.size, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) return nullptr;
    opened_[static_cast<std::byte*>(memory)] = other.size;
    return static_cast<std::byte*>(memory);
  }
  DeviceMark copy_opened(std::byte* to, const std::byte* opened, std::size_t bytes) override {
    const auto next = opened_.upper_bound(opened);
    const bool is_opened =
        next != opened_.begin() && opened + bytes <= std::prev(next)->first + std::prev(next)->second;
    ++opened_copies_;
    if (is_garbling_ && is_opened) opened = std::prev(next)->first + std::prev(next)->second - bytes;
    return copy_concurrently(inward_, to, opened, bytes, is_opened && (owns(to) || is_pinned(to, bytes)));
  }
  void close(const std::byte* opened) noexcept override {
    finish_all();
    const auto found = opened_.find(opened);
    if (found == opened_.end()) {
      ++misuses_;
      return;
    }
    munmap(const_cast<std::byte*>(found->first), found->second);
    opened_.erase(found);
  }
  bool owns(const void* memory) const override { return block_of(memory) != blocks_.end(); }
  std::byte* allocate_pinned(std::size_t bytes) override {
    std::byte* const memory = host_device().allocate_pinned(bytes);
    if (memory != nullptr) pinned_[memory] = bytes;
    return memory;
  }
  void release_pinned(std::byte* memory) noexcept override {
    if (memory == nullptr) return;
    finish_all();
    if (pinned_.erase(memory) == 0)
      ++misuses_;
    else
      host_device().release_pinned(memory);
  }

  void finish() override {
    queue_.finish();
    second_.finish();
  }
  DeviceMark mark() override { return mark_in(*in_use_); }
  bool has_reached(DeviceMark mark) override { return marks_.at(mark)->reached.load(); }
  Seconds between(DeviceMark begin, DeviceMark end) override {
    if (!has_reached(begin) || !has_reached(end)) throw std::logic_error("a mark is not reached yet");
    return Seconds(std::chrono::duration<double>(marks_.at(end)->time - marks_.at(begin)->time).count());
  }
  void forget(DeviceMark mark) noexcept override {
    if (marks_.erase(mark) == 0) ++misuses_;
  }
  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override {
    return copy_concurrently(outward_, pinned, own, bytes, owns(own) && is_pinned(pinned, bytes));
  }
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override {
    return copy_concurrently(inward_, own, pinned, bytes, owns(own) && is_pinned(pinned, bytes));
  }
  DeviceMark mark_copies(bool out) override { return mark_in(out ? outward_ : inward_); }

 private:
  struct Block {
    std::byte* own;  ///< the address that the device uses
    std::size_t size;
    int file;
    std::uint64_t number;
    bool is_shared = false;
  };
  /// What a handle says.
  struct Shared {
    pid_t process;
    int file;
    std::size_t size;
  };
  using Blocks = std::map<const std::byte*, Block>;
  struct Mark {
    std::chrono::steady_clock::time_point time;
    std::atomic<bool> reached = false;
  };

  void use_second_queue(bool second) noexcept override { in_use_ = second ? &second_ : &queue_; }
  static void unmap(const std::byte* shown, const Block& block) {
    munmap(const_cast<std::byte*>(shown), block.size);
    munmap(block.own, block.size);
    ::close(block.file);
  }
  /// Shared memory of this size that was released; null: there is none.
  std::byte* take_kept(std::size_t bytes) {
    const auto kept =
        std::ranges::find_if(kept_, [bytes](const auto& item) { return item.second.size == bytes; });
    if (kept == kept_.end()) return nullptr;
    const auto [memory, block] = *kept;
    std::memset(block.own, 0, bytes);
    blocks_.insert(*kept);
    kept_.erase(kept);
    return const_cast<std::byte*>(memory);
  }
  Blocks::const_iterator block_of(const void* memory) const {
    const auto* const at = static_cast<const std::byte*>(memory);
    auto next = blocks_.upper_bound(at);
    if (memory == nullptr || next == blocks_.begin()) return blocks_.end();
    --next;
    return at < next->first + next->second.size ? next : blocks_.end();
  }
  const void* inside(const void* memory) const override {
    const auto block = block_of(memory);
    if (block == blocks_.end()) return memory;
    return block->second.own + (static_cast<const std::byte*>(memory) - block->first);
  }

  bool is_pinned(const std::byte* memory, std::size_t bytes) const {
    auto next = pinned_.upper_bound(memory);
    if (next == pinned_.begin()) return false;
    --next;
    return memory + bytes <= next->first + next->second;
  }
  DeviceMark mark_in(LateWorker& worker) {
    const auto mark = std::make_shared<Mark>();
    marks_[++last_mark_] = mark;
    worker.add([mark] {
      mark->time = std::chrono::steady_clock::now();
      mark->reached.store(true);
    });
    return last_mark_;
  }
  DeviceMark copy_concurrently(LateWorker& worker, std::byte* to, const std::byte* from, std::size_t bytes,
                               bool is_right) {
    if (!is_right) ++misuses_;
    ++copies_;
    worker.add([to = as_seen(to), from = as_seen(from), bytes] { std::memcpy(to, from, bytes); });
    return mark_in(worker);
  }
  void finish_all() noexcept {
    queue_.finish();
    second_.finish();
    outward_.finish();
    inward_.finish();
  }

  bool is_open_;
  Blocks blocks_;
  Blocks kept_;  ///< shared and released
  std::map<const std::byte*, std::size_t> opened_;
  bool is_shareable_ = true;
  bool is_garbling_ = false;
  int opened_copies_ = 0;
  std::uint64_t allocations_ = 0;
  std::map<const std::byte*, std::size_t> pinned_;  ///< with their sizes
  std::map<DeviceMark, std::shared_ptr<Mark>> marks_;
  DeviceMark last_mark_ = 0;
  int misuses_ = 0;
  int copies_ = 0;
  LateWorker queue_;
  LateWorker second_;
  LateWorker* in_use_ = &queue_;
  LateWorker outward_;
  LateWorker inward_;
};

}  // namespace tandem::testing
