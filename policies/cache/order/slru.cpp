// SLRU, segmented LRU (Karedla, Love, Wherry, IEEE Computer 27(3), 1994). Each hit moves a sample one segment
// up; a segment that is too full moves its oldest samples one segment down. As in libCacheSim, a new sample
// goes to the lowest segment that has room, so that a cold cache fills all of them.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

inline constexpr int most_segments = 16;

template <class Ids>
class Slru final : public Order<Slru<Ids>, Ids, most_segments> {
  using Base = Order<Slru, Ids, most_segments>;
  friend Base;

 public:
  explicit Slru(const OrderSetting& setting)
      : Base(setting),
        segments_(static_cast<int>(setting.options.integer("segments"))),
        segment_bytes_(setting.capacity.count() / segments_) {}

 private:
  void touch(Slot slot) {
    const int segment = this->entry(slot).list;
    this->move_to_newest(std::min(segment + 1, segments_), slot);
    for (int number = std::min(segment + 1, segments_); number > 1; --number)
      while (this->list(number).bytes > segment_bytes_)
        this->move_to_newest(number - 1, this->list(number).oldest);
  }
  Slot choose(typename Base::Nothing) const {
    int number = 1;
    while (this->list(number).count == 0) ++number;
    return this->list(number).oldest;
  }
  void place(Slot slot, typename Base::Nothing) {
    const std::int64_t size = this->entry(slot).size;
    int number = 1;
    while (number <= segments_ && this->list(number).bytes + size > segment_bytes_) ++number;
    this->link_newest(number > segments_ ? 1 : number, slot);
  }

  int segments_;
  std::int64_t segment_bytes_;
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
