// A compute device that is not the host: it does nothing of what it is told before somebody waits for it, so
// that whoever reads too early, or changes what a copy still needs, is found out. Its memory is the
// processor's, and it counts what it hands out.
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
    if (const auto copy = beside_.find(mark); copy != beside_.end()) {
      // The first look comes too early, always.
      if (!std::exchange(copy->second.looked_at, true)) return false;
      copy->second.run();
      beside_.erase(copy);
      return true;
    }
    TANDEM_CHECK(marks_.contains(mark), "mark", mark);
    run_until(marks_.at(mark));
    return true;
  }
  Seconds between(DeviceMark, DeviceMark) override { return Seconds(0); }
  void forget(DeviceMark mark) noexcept override {
    if (marks_.erase(mark) == 0) ++wrong_forgets;
    if (const auto copy = beside_.find(mark); copy != beside_.end()) {
      copy->second.run();
      beside_.erase(copy);
    }
  }

  DeviceMark copy_out(std::byte* pinned, const std::byte* own, std::size_t bytes) override {
    return beside(pinned, own, bytes);
  }
  DeviceMark copy_in(std::byte* own, const std::byte* pinned, std::size_t bytes) override {
    return beside(own, pinned, bytes);
  }
  DeviceMark mark_copies(bool) override { return mark(); }

  std::size_t marks() const { return marks_.size(); }
  std::size_t memories() const { return owned_.size(); }
  int pinned_memories() const { return pinned_; }

  int finishes = 0;
  int concurrent_copies = 0;
  int wrong_forgets = 0;  ///< of marks that were none

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
  DeviceMark beside(std::byte* to, const std::byte* from, std::size_t bytes) {
    ++concurrent_copies;
    const DeviceMark end = mark();
    beside_[end] = {.run = [=] { std::memcpy(to, from, bytes); }};
    return end;
  }

  std::deque<std::function<void()>> waiting_;
  std::size_t queued_ = 0;
  std::size_t done_ = 0;
  std::map<DeviceMark, std::size_t> marks_;  ///< that nobody has forgotten, and the place of each
  std::map<DeviceMark, Copy> beside_;        ///< copies beside the queue that have not been made
  DeviceMark last_mark_ = 0;
  std::set<const void*> owned_;
  int pinned_ = 0;
};

}  // namespace tandem::testing
