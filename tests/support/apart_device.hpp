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
#include "workloads/vectors/compute_device.hpp"

namespace tandem::testing {

class ApartDevice : public ComputeDevice {
 public:
  std::string name() const override { return "apart"; }
  bool is_host() const override { return false; }

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

  void copy(void* to, const void* from, std::size_t bytes) override {
    queue([=] { host_device().copy(to, from, bytes); });
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

  void fill(float* values, std::int64_t count, float value) override {
    queue([=] { host_device().fill(values, count, value); });
  }
  void scale(float* values, std::int64_t count, float factor) override {
    queue([=] { host_device().scale(values, count, factor); });
  }
  void add(float* sum, const float* values, std::int64_t count, float factor) override {
    queue([=] { host_device().add(sum, values, count, factor); });
  }
  void add_halves(std::uint16_t* sum, const std::uint16_t* values, std::int64_t count,
                  HalfFormat format) override {
    queue([=] { host_device().add_halves(sum, values, count, format); });
  }
  void subtract(float* difference, const float* left, const float* right, std::int64_t count) override {
    queue([=] { host_device().subtract(difference, left, right, count); });
  }
  void approach(float* values, const float* target, std::int64_t count, float share) override {
    queue([=] { host_device().approach(values, target, count, share); });
  }
  void sgd(float* model, const float* gradient, float* velocity, std::int64_t count,
           const SgdStep& step) override {
    queue([=] { host_device().sgd(model, gradient, velocity, count, step); });
  }
  void adam(float* model, const float* gradient, float* mean, float* square, std::int64_t count,
            const AdamStep& step) override {
    queue([=] { host_device().adam(model, gradient, mean, square, count, step); });
  }
  void compensate(float* gradient, const float* model, const float* older, float* mean_square,
                  std::int64_t count, const CompensationStep& step) override {
    queue([=] { host_device().compensate(gradient, model, older, mean_square, count, step); });
  }
  void move(float* model, const float* base, const float* sum, float* velocity, std::int64_t count,
            const MoveStep& step) override {
    queue([=] { host_device().move(model, base, sum, velocity, count, step); });
  }
  void find_flaw(const float* values, std::int64_t count, std::int64_t* pinned_first) override {
    queue([=] { host_device().find_flaw(values, count, pinned_first); });
  }
  void narrow(const float* values, std::uint16_t* halves, std::int64_t count, HalfFormat format) override {
    queue([=] { host_device().narrow(values, halves, count, format); });
  }
  void widen(const std::uint16_t* halves, float* values, std::int64_t count, HalfFormat format) override {
    queue([=] { host_device().widen(halves, values, count, format); });
  }
  std::unique_ptr<compression::Codec> make_codec(const std::string&, const compression::Setting&) override {
    return nullptr;
  }

  std::size_t marks() const { return marks_.size(); }
  std::size_t memories() const { return owned_.size(); }
  int pinned_memories() const { return pinned_; }

  int finishes = 0;
  int copies_beside = 0;
  int wrong_forgets = 0;  ///< of marks that were none

 private:
  struct Copy {
    std::function<void()> run;
    bool looked_at = false;
  };

  void use_second_queue(bool) noexcept override {}
  void queue(std::function<void()> work) {
    waiting_.push_back(std::move(work));
    ++queued_;
  }
  void run_until(std::size_t place) {
    for (; done_ < place; ++done_) {
      waiting_.front()();
      waiting_.pop_front();
    }
  }
  DeviceMark beside(std::byte* to, const std::byte* from, std::size_t bytes) {
    ++copies_beside;
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
