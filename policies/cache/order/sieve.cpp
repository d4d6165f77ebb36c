// SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024): a FIFO whose hand moves from the oldest sample to
// the newest and evicts the first one that was not requested since it last passed. Samples never move.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Sieve final : public Order<Sieve<Ids>, Ids, 1> {
  using Base = Order<Sieve, Ids, 1>;
  friend Base;

 public:
  using Base::Base;

 private:
  static constexpr std::uint32_t queue = 1;
  void touch(Slot slot) { this->entry(slot).count = 1; }
  Slot choose(typename Base::Nothing) {
    if (hand_ == no_slot) hand_ = this->list(queue).oldest;
    while (this->entry(hand_).count > 0) {
      this->entry(hand_).count = 0;
      hand_ = this->entry(hand_).newer;
      if (hand_ == no_slot) hand_ = this->list(queue).oldest;
    }
    return hand_;
  }
  void leave(Slot slot) {
    if (slot == hand_) hand_ = this->entry(slot).newer;
    Base::leave(slot);
  }
  void place(Slot slot, typename Base::Nothing) {
    this->entry(slot).count = 0;
    this->link_newest(queue, slot);
  }

  Slot hand_ = no_slot;  ///< `no_slot`: at the oldest sample
};

Catalog<Factory>::Entry sieve() {
  return {.name = "sieve",
          .summary = "a hand moves over a FIFO and evicts the first sample not requested since its last pass",
          .paper = "Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is Simpler than LRU. NSDI 2024",
          .options = {},
          .make = order_factory<Sieve>()};
}

}  // namespace tandem::cache
