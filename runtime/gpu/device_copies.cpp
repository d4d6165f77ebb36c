#include "runtime/gpu/device_copies.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem {

// ---- Pinned memory ----

PinnedPool::~PinnedPool() {
  for (const Idle& idle : idle_) device_.release_pinned(idle.memory);
}

PinnedPool::Block PinnedPool::take(std::int64_t bytes) {
  TANDEM_CHECK(bytes > 0, "bytes", bytes);
  // Buckets differ little in size; rounding up lets one block serve several.
  constexpr std::size_t step = 64 * 1024;
  const std::size_t needed = (static_cast<std::size_t>(bytes) + step - 1) / step * step;
  Block block;
  block.pool_ = this;
  auto best = idle_.end();
  for (auto idle = idle_.begin(); idle != idle_.end(); ++idle)
    if (idle->size >= needed && idle->size <= 2 * needed && (best == idle_.end() || idle->size < best->size))
      best = idle;
  if (best != idle_.end()) {
    block.memory_ = best->memory;
    block.size_ = best->size;
    idle_bytes_ -= best->size;
    *best = idle_.back();
    idle_.pop_back();
    return block;
  }
  // Returning a block must not need memory.
  idle_.reserve(blocks_ + 1);
  block.memory_ = device_.allocate_pinned(needed);
  block.size_ = needed;
  ++blocks_;
  return block;
}

void PinnedPool::give_back(std::byte* memory, std::size_t size) noexcept {
  if (idle_bytes_ + size > most_idle_) {
    device_.release_pinned(memory);
    --blocks_;
    return;
  }
  idle_.push_back({memory, size});
  idle_bytes_ += size;
}

// ---- Copies ----

OwnedMark DeviceCopies::mark_beginning(bool out) {
  return watcher_ ? OwnedMark(device_, device_.mark_copies(out)) : OwnedMark();
}

void DeviceCopies::out(std::byte* pinned, const std::byte* own, std::int64_t bytes, Route route, Then then) {
  OwnedMark begin = mark_beginning(true);
  OwnedMark end(device_, device_.copy_out(pinned, own, static_cast<std::size_t>(bytes)));
  out_.push_back({{true, bytes, std::move(begin), std::move(end)}, route, std::move(then)});
}

void DeviceCopies::behind(Route route, Then then) { out_.push_back({{}, route, std::move(then)}); }

bool DeviceCopies::is_leaving(Route route) const {
  return std::ranges::any_of(out_, [&](const Copy& copy) { return copy.route == route; });
}

void DeviceCopies::in(std::byte* own, const std::byte* pinned, std::int64_t bytes, Then then) {
  OwnedMark begin = mark_beginning(false);
  add_in(std::move(begin), device_.copy_in(own, pinned, static_cast<std::size_t>(bytes)), bytes,
         std::move(then));
}

void DeviceCopies::in_opened(SharedDeviceMemory& memory, std::byte* to, const std::byte* opened,
                             std::int64_t bytes, Then then) {
  OwnedMark begin = mark_beginning(false);
  add_in(std::move(begin), memory.copy_opened(to, opened, static_cast<std::size_t>(bytes)), bytes,
         std::move(then));
}

void DeviceCopies::add_in(OwnedMark begin, DeviceMark end, std::int64_t bytes, Then then) {
  in_.push_back({{false, bytes, std::move(begin), OwnedMark(device_, end)}, {}, std::move(then)});
}

bool DeviceCopies::advance() {
  const bool left = follow(out_);
  const bool came = follow(in_);
  return left || came;
}

/// A device copies in order in each direction: if the first copy has not ended, none has.
bool DeviceCopies::follow(std::deque<Copy>& copies) {
  bool any = false;
  const auto has_ended = [](const Copy& copy) { return !copy.copied.end || copy.copied.end.is_reached(); };
  while (!copies.empty() && has_ended(copies.front())) {
    Copy ended = std::move(copies.front());
    copies.pop_front();
    if (watcher_ && ended.copied.begin) watcher_(std::move(ended.copied));
    ended.then();
    any = true;
  }
  return any;
}

}  // namespace tandem
