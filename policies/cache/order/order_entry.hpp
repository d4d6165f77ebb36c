// Makes a cache policy and a replay of traces of an eviction order, which is written once as a class
// template.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>

#include "policies/cache/order/order.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Keeps every sample that the order admits, in the first tier. Each tier has an order of its own. A sample
/// that is evicted from a tier moves to the next one; a sample that is hit below the first tier returns to
/// it. Space is made when a sample is requested, not when it arrives, so that a repeated request does not
/// read it twice.
template <template <class> class Order>
class OrderPolicy final : public CachePolicy {
 public:
  explicit OrderPolicy(const Setting& setting) : node_(setting.node), manifest_(setting.manifest) {
    for (const Bytes capacity : setting.tiers)
      orders_.emplace_back(
          OrderSetting{.capacity = capacity, .seed = setting.seed, .options = setting.options});
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
      if (orders_.front().hit(id)) {
        decisions.serve.push_back({id, id, tier(0)});
        continue;
      }
      const int lower = lower_tier(id);
      decisions.serve.push_back({id, id, lower == outside ? store() : tier(lower)});
      if (lower != outside) orders_[static_cast<std::size_t>(lower)].remove(id);
      put(id, size, lower, 0, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome == Arrived::Outcome::here) continue;
      for (std::size_t number = 0; number < orders_.size(); ++number) {
        if (!orders_[number].holds(read.id)) continue;
        orders_[number].remove(read.id);
        decisions.drop(read.id, read.size, static_cast<int>(number));
      }
    }
  }

  /// Samples that this node still holds when it begins are in its second tier.
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    for (const auto& [id, node] : holders)
      if (node == node_ && orders_.size() > 1 && !holds(id))
        put(id, manifest_.size_of(id), outside, 1, decisions);
  }

  bool holds(SampleId id) const override {
    return std::ranges::any_of(orders_, [id](const auto& order) { return order.holds(id); });
  }
  Bytes used(int tier) const override {
    const auto number = static_cast<std::size_t>(tier);
    return number < orders_.size() ? orders_[number].used() : Bytes(0);
  }

 private:
  int lower_tier(SampleId id) const {
    for (std::size_t number = 1; number < orders_.size(); ++number)
      if (orders_[number].holds(id)) return static_cast<int>(number);
    return outside;
  }
  /// Puts a sample into the first tier, from `to` on, that admits it. Evicts samples first if there is no
  /// room.
  void put(SampleId id, Bytes size, int from, int to, Decisions& decisions) {
    const auto lower = [&](SampleId gone, std::int64_t bytes) {
      put(gone, Bytes(bytes), to, to + 1, decisions);
    };
    for (; to < static_cast<int>(orders_.size()); ++to) {
      if (!orders_[static_cast<std::size_t>(to)].insert(id, size.count(), lower)) continue;
      if (to != from)
        decisions.move.push_back({id, size, static_cast<std::int16_t>(from), static_cast<std::int16_t>(to)});
      return;
    }
    if (from != outside) decisions.drop(id, size, from);
  }

  int node_;
  Manifest manifest_;
  std::deque<Order<AnyIds>> orders_;  ///< by tier
};

/// One order and no virtual calls.
template <template <class> class Order>
Counts replay_order(const Trace& trace, const ReplaySetting& setting) {
  constexpr std::size_t ahead = 8;  // requests until an entry that is fetched now is read
  Order<DenseIds> order(
      {.capacity = setting.capacity, .ids = trace.ids, .seed = setting.seed, .options = setting.options});
  Counts counts;
  Admission admission(setting.admission, trace.ids, setting.seed);
  const auto& requests = trace.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + ahead < requests.size()) order.prefetch(requests[i + ahead].id);
    const auto [id, size] = requests[i];
    const bool is_hit = order.hit(id);
    if (i >= setting.warm_up) counts.add(size, is_hit);
    if (is_hit || !admission.admits(requests[i])) continue;
    order.insert(id, size, [&](SampleId, std::int64_t) {
      ++counts.evicted;
      counts.note_full();
    });
    counts.largest_used = std::max(counts.largest_used, order.used().count());
  }
  return counts;
}

template <template <class> class Order>
Factory order_factory() {
  return {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
            return std::make_unique<OrderPolicy<Order>>(setting);
          },
          .replay = replay_order<Order>};
}

}  // namespace tandem::cache
