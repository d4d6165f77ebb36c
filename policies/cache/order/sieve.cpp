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
  void touch(Row row) { this->entry(row).count = 1; }
  Row choose(typename Base::Nothing) {
    if (hand_ == no_row) hand_ = this->list(queue).oldest;
    while (this->entry(hand_).count > 0) {
      this->entry(hand_).count = 0;
      hand_ = this->entry(hand_).newer;
      if (hand_ == no_row) hand_ = this->list(queue).oldest;
    }
    return hand_;
  }
  void leave(Row row) {
    if (row == hand_) hand_ = this->entry(row).newer;
    Base::leave(row);
  }
  void place(Row row, typename Base::Nothing) {
    this->entry(row).count = 0;
    this->link_newest(queue, row);
  }

  Row hand_ = no_row;  ///< `no_row`: at the oldest sample
};

Catalog<Factory>::Entry sieve() {
  return {.name = "sieve",
          .summary = "a hand moves over a FIFO and evicts the first sample not requested since its last pass",
          .paper = "Zhang, Yang, Yue, Vigfusson, Rashmi: SIEVE is Simpler than LRU. NSDI 2024",
          .options = {},
          .make = order_factory<Sieve>()};
}

}  // namespace tandem::cache
