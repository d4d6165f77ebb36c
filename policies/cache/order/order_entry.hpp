// Makes a cache policy and a replay of traces of an eviction order, which is written once as a class
// template.
#pragma once

#include <memory>

#include "policies/cache/order/order.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Keeps every sample that the order admits, in the first tier. Space is made when a sample is wanted, not
/// when it arrives, so that a repeated request does not read it twice.
template <template <class> class Order>
class OrderPolicy final : public CachePolicy {
 public:
  explicit OrderPolicy(const Setting& setting)
      : order_({.capacity = setting.capacity(), .seed = setting.seed, .options = setting.options}) {}

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
      const bool is_hit = order_.hit(id);
      decisions.serve.push_back({id, id, is_hit ? tier(0) : store()});
      if (is_hit) continue;
      if (order_.insert(id, size.count(),
                        [&](SampleId gone, std::int64_t bytes) { decisions.drop(gone, Bytes(bytes)); }))
        decisions.keep(id, size);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome == Arrived::Outcome::here || !order_.holds(read.id)) continue;
      order_.remove(read.id);
      decisions.drop(read.id, read.size);
    }
  }

  bool holds(SampleId id) const override { return order_.holds(id); }
  Bytes used(int tier) const override { return tier == 0 ? order_.used() : Bytes(0); }

 private:
  Order<AnyIds> order_;
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
    order.insert(id, size, [&](SampleId, std::int64_t) { ++counts.evicted; });
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
