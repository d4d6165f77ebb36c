// Makes a cache policy and a replay of traces of an eviction order, which is written once as a class
// template.
#pragma once

#include <memory>

#include "policies/cache/order/order.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Keeps every sample that the order admits.
template <template <class> class Order>
class OrderPolicy final : public CachePolicy {
 public:
  explicit OrderPolicy(const Setting& setting)
      : order_({.capacity = setting.capacity, .seed = setting.seed, .options = setting.options}) {}

  Lookup on_request(SampleId id, Bytes) override {
    return {order_.hit(id) ? Source::local : Source::storage};
  }

  Admission on_fetched(SampleId id, Bytes size) override {
    TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
    // Two requests may miss before the first fetch ends; when the second ends, the sample is in the cache.
    if (order_.hit(id)) return {.keep = true};
    Admission admission;
    admission.keep =
        order_.insert(id, size.count(), [&](SampleId gone) { admission.evicted.push_back(gone); });
    return admission;
  }

  Bytes used() const override { return order_.used(); }

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
  const auto& requests = trace.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i + ahead < requests.size()) order.prefetch(requests[i + ahead].id);
    const auto [id, size] = requests[i];
    const bool is_hit = order.hit(id);
    counts.add(size, is_hit);
    if (is_hit) continue;
    order.insert(id, size, [&](SampleId) { ++counts.evicted; });
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
