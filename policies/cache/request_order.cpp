#include "policies/cache/request_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {
namespace {

using Number = std::uint32_t;  ///< of a batch
constexpr Number never = std::numeric_limits<Number>::max();

/// Sizes in units: samples, or bytes where samples have different sizes.
struct Units {
  Units(std::span<const Bytes> tiers, const Manifest& manifest)
      : sizes(manifest.sizes), bytes(sizes.empty() ? manifest.each.count() : 1) {
    for (const Bytes tier : tiers) {
      const std::int64_t units = bytes > 0 ? tier.count() / bytes : 0;
      capacity += units;
      largest = std::max(largest, units);
    }
  }
  /// 0: no tier can have the sample.
  std::int64_t of(std::size_t id) const {
    const std::int64_t size = sizes.empty() ? 1 : sizes[id].count();
    return size <= largest ? size : 0;
  }

  std::span<const Bytes> sizes;
  std::int64_t bytes;  ///< of a unit
  std::int64_t capacity = 0, largest = 0;
};

/// The content of the tiers from batch to batch: the samples that the next batches want first.
class Content {
 public:
  Content(std::size_t samples, const Units& units)
      : units_(units), until_(samples, never), seen_in_(samples, never), held_(samples) {}

  /// A sample of batch `now`: the units that are there already.
  std::int64_t take(std::uint32_t id, Number now) {
    if (std::exchange(seen_in_[id], now) == now) return units_.of(id);
    const std::int64_t there = until_[id] == now ? held_[id] : 0;
    used_ -= there;
    until_[id] = now;
    return there;
  }
  /// After the batch, of a sample that was taken: until batch `next`, if there is room. Again: nothing.
  void keep(std::uint32_t id, Number now, Number next) {
    if (until_[id] != now) return;
    const std::int64_t size = units_.of(id);
    until_[id] = size > 0 ? next : never;
    if (until_[id] == never) return;
    held_[id] = size;
    used_ += size;
    farthest_.push_back({next, id});
    std::ranges::push_heap(farthest_);
  }
  /// Evicts the sample that is wanted last.
  void make_room() {
    while (used_ > units_.capacity) {
      TANDEM_CHECK(!farthest_.empty(), "used", used_, "capacity", units_.capacity);
      const auto [next, id] = farthest_.front();
      // Otherwise it has been wanted since, and may be kept for a later batch.
      const bool is_here = until_[id] == next;
      const std::int64_t part = is_here ? std::min(held_[id], used_ - units_.capacity) : 0;
      used_ -= part;
      held_[id] -= part;
      if (is_here && held_[id] > 0) return;
      if (is_here) until_[id] = never;
      std::ranges::pop_heap(farthest_);
      farthest_.pop_back();
    }
  }

 private:
  Units units_;
  std::vector<Number> until_;       ///< by id: the batch for which it is kept
  std::vector<Number> seen_in_;     ///< by id: the last batch that had it
  std::vector<std::int64_t> held_;  ///< by id: units
  std::int64_t used_ = 0;
  std::vector<std::pair<Number, std::uint32_t>> farthest_;  ///< heap
};

}  // namespace

void RequestOrder::add(std::int64_t epoch, std::span<const Serve> serves) {
  requests_ += std::ssize(serves);
  if (!is_complete()) {
    ids_ = {};
    batches_ = {};
    return;
  }
  for (const Serve& serve : serves) ids_.push_back(static_cast<std::uint32_t>(serve.given));
  batches_.push_back({static_cast<std::uint32_t>(ids_.size()), epoch});
}

Bytes RequestOrder::most_from_tiers(std::int64_t first_epoch, std::int64_t last_epoch,
                                    std::span<const Bytes> tiers, const Manifest& manifest) const {
  TANDEM_CHECK(is_complete(), "requests", requests_, "kept", most_);
  const auto counts = [&](std::size_t batch) {
    return first_epoch <= batches_[batch].epoch && batches_[batch].epoch <= last_epoch;
  };
  const auto ids_of = [this](std::size_t batch) {
    const std::size_t begin = batch == 0 ? 0 : batches_[batch - 1].end;
    return std::pair(begin, std::size_t{batches_[batch].end});
  };
  std::size_t end = batches_.size();
  while (end > 0 && !counts(end - 1)) --end;
  // The next batch that has the sample of a request. It is kept for one that counts only.
  std::vector<Number> next(end == 0 ? 0 : batches_[end - 1].end),
      first(static_cast<std::size_t>(manifest.samples), never);
  for (std::size_t batch = end; batch-- > 0;) {
    const auto [begin, last] = ids_of(batch);
    for (std::size_t i = begin; i < last; ++i) next[i] = first[ids_[i]];
    for (std::size_t i = begin; i < last; ++i)
      first[ids_[i]] = counts(batch) ? static_cast<Number>(batch) : never;
  }
  const Units units(tiers, manifest);
  Content content(static_cast<std::size_t>(manifest.samples), units);
  std::int64_t hits = 0;
  for (std::size_t batch = 0; batch < end; ++batch) {
    const auto now = static_cast<Number>(batch);
    const auto [begin, last] = ids_of(batch);
    for (std::size_t i = begin; i < last; ++i) {
      const std::int64_t there = content.take(ids_[i], now);
      if (counts(batch)) hits += there;
    }
    for (std::size_t i = begin; i < last; ++i) content.keep(ids_[i], now, next[i]);
    content.make_room();
  }
  return Bytes(hits * units.bytes);
}

}  // namespace tandem::cache
