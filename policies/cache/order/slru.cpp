// SLRU, segmented LRU (Karedla, Love, Wherry, IEEE Computer 27(3), 1994). Each hit moves a sample one segment
// up; a segment that is too full moves its oldest samples one segment down. As in libCacheSim, a new sample
// goes to the lowest segment that has room, so that a cold cache fills all of them.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/order/segments.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Slru final : public SegmentedOrder<Slru<Ids>, Ids, most_segments> {
  using Base = SegmentedOrder<Slru, Ids, most_segments>;
  friend Order<Slru, Ids, most_segments>;

 public:
  explicit Slru(const OrderSetting& setting) : Base(setting) {
    const auto segments = setting.options.integer("segments");
    const std::int64_t each = setting.capacity.count() / segments;
    this->use_segments(1, static_cast<int>(segments), each, each);
  }

 private:
  void touch(Row row) { this->promote(row); }
  Row choose(typename Base::Nothing) const { return this->oldest_of_segments(); }
  void place(Row row, typename Base::Nothing) { this->enter(row); }
};

Catalog<Factory>::Entry slru() {
  return {.name = "slru",
          .summary = "segmented LRU: each hit moves a sample one segment up",
          .paper =
              "Karedla, Love, Wherry: Caching Strategies to Improve Disk System Performance. IEEE Computer "
              "27(3), 1994",
          .options = {{"segments", "number of equal segments", std::int64_t{4}, 1, most_segments}},
          .make = order_factory<Slru>()};
}

}  // namespace tandem::cache
