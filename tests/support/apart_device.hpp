// A compute device other than the host that defers all work until someone waits for it, which exposes code
// that reads too early or that changes the source of a pending copy. Its memory is host memory, and it counts
// its resources.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "tests/support/queued_device.hpp"

namespace tandem::testing {

class ApartDevice : public QueuedDevice {
 public:
  std::string name() const override { return "apart"; }

  void queue(std::function<void()> work) override {
    waiting_.push_back(std::move(work));
    ++queued_;
  }

  std::byte* allocate(std::size_t bytes) override {
    std::byte* const memory = host_device().allocate(bytes);
    if (memory != nullptr) owned_.insert(memory);
    return memory;
  }
  void release(std::byte* memory) noexcept override {
    owned_.erase(memory);
    host_device().release(memory);
  }
  bool owns(const void* memory) const override { return owned_.contains(memory); }
  std::byte* allocate_pinned(std::size_t bytes) override {
    ++pinned_;
    return host_device().allocate_pinned(bytes);
  }
  void release_pinned(std::byte* memory) noexcept override {
    --pinned_;
    host_device().release_pinned(memory);
  }

  void finish() override {
    ++finishes;
    run_until(queued_);
  }
  DeviceMark mark() override {
    marks_[++last_mark_] = queued_;
    return last_mark_;
  }
  bool has_reached(DeviceMark mark) override {
    if (const auto copy = concurrent_copies_.find(mark); copy != concurrent_copies_.end()) {
      // The first query always returns false.
      if (!std::exchange(copy->second.looked_at, true)) return false;
      copy->second.run();
      concurrent_copies_.erase(copy);
      return true;
    }
    TANDEM_CHECK(marks_.contains(mark), "mark", mark);
    run_until(marks_.at(mark));
    return true;
  }
  Seconds between(DeviceMark, DeviceMark) override { return Seconds(0); }
  void forget(DeviceMark mark) noexcept override {
    if (marks_.erase(mark) == 0) ++wrong_forgets;
    if (const auto copy = concurrent_copies_.find(mark); copy != concurrent_copies_.end()) {
      copy->second.run();
      concurrent_copies_.erase(copy);
    }
  }

  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override {
    return copy_concurrently(pinned, own, bytes);
  }
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override {
    return copy_concurrently(own, pinned, bytes);
  }
  DeviceMark mark_copies(bool) override { return mark(); }

  std::size_t marks() const { return marks_.size(); }
  std::size_t memories() const { return owned_.size(); }
  int pinned_memories() const { return pinned_; }

  int finishes = 0;
  int concurrent_copies = 0;
  int wrong_forgets = 0;  ///< of marks that do not exist

 private:
  struct Copy {
    std::function<void()> run;
    bool looked_at = false;
  };

  void use_second_queue(bool) noexcept override {}
  void run_until(std::size_t place) {
    for (; done_ < place; ++done_) {
      waiting_.front()();
      waiting_.pop_front();
    }
  }
  DeviceMark copy_concurrently(std::byte* to, const std::byte* from, std::size_t bytes) {
    ++concurrent_copies;
    const DeviceMark end = mark();
    concurrent_copies_[end] = {.run = [=] { std::memcpy(to, from, bytes); }};
    return end;
  }

  std::deque<std::function<void()>> waiting_;
  std::size_t queued_ = 0;
  std::size_t done_ = 0;
  std::map<DeviceMark, std::size_t> marks_;       ///< not yet forgotten, with their positions
  std::map<DeviceMark, Copy> concurrent_copies_;  ///< pending copies concurrent with the queue
  DeviceMark last_mark_ = 0;
  std::set<const void*> owned_;
  int pinned_ = 0;
};

}  // namespace tandem::testing
