// Runs any program over a context with the memory of its messages and sums on the context's device: copies
// outgoing data to the device first, and incoming data from the device at the end.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "workloads/context_decorator.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem::testing {

/// Decorates `inner`, which must outlive it.
class DeviceMemoryContext final : public ContextDecorator {
 public:
  explicit DeviceMemoryContext(Context& inner) : ContextDecorator(inner) {}

  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override {
    Place place = place_for(slice, false);
    const Slice own = place.slice();
    return keep(std::move(place), inner_.send(to, channel, own, note));
  }
  Pending receive(Rank from, Channel channel, Slice slice) override {
    Place place = place_for(slice, true);
    const Slice own = place.slice();
    return keep(std::move(place), inner_.receive(from, channel, own));
  }
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override {
    Place place = place_for(vector, true);
    const Slice own = place.slice();
    return keep(std::move(place), inner_.all_reduce(members, channel, own, element));
  }
  Completion wait(Pending& pending) override {
    const std::uint32_t number = pending.number();
    const Completion completion = inner_.wait(pending);
    settle(number, completion.outcome);
    return completion;
  }
  Completion wait_any(std::span<Pending> pendings) override {
    std::vector<std::uint32_t> numbers;
    for (const Pending& pending : pendings) numbers.push_back(pending.empty() ? 0 : pending.number());
    const Completion completion = inner_.wait_any(pendings);
    settle(numbers[completion.index], completion.outcome);
    return completion;
  }

 private:
  struct Place {
    Slice of;
    DeviceArray<std::byte> memory;  ///< empty where there is nothing to move
    bool comes_back;
    Slice slice() const { return {of.size, memory.empty() ? of.data : memory.data()}; }
  };

  Place place_for(const Slice& slice, bool comes_back) {
    Place place{slice, {}, comes_back};
    const auto size = static_cast<std::size_t>(slice.size.count());
    if (slice.data == nullptr || size == 0) return place;
    place.memory = DeviceArray<std::byte>(device(), size);
    copy_and_await(device(), place.memory.data(), slice.data, size);
    return place;
  }
  Pending keep(Place place, Pending pending) {
    if (!place.memory.empty()) places_.insert_or_assign(pending.number(), std::move(place));
    return pending;
  }
  void settle(std::uint32_t number, Outcome outcome) {
    const auto found = places_.find(number);
    if (found == places_.end()) return;
    const Place& place = found->second;
    if (place.comes_back && outcome == Outcome::done)
      copy_and_await(device(), place.of.data, place.memory.data(), place.memory.size());
    places_.erase(found);
  }

  std::map<std::uint32_t, Place> places_;  ///< by the number of the operation
};

}  // namespace tandem::testing
