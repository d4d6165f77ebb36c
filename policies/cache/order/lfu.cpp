// LFU, least frequently used: evicts the sample with the fewest requests since it was inserted; of several,
// the one that reached that number first.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

/// A sample's list is its number of requests.
template <class Ids>
class Lfu final : public Order<Lfu<Ids>, Ids, 1> {
  using Base = Order<Lfu, Ids, 1>;
  friend Base;

 public:
  using Base::Base;

 private:
  void touch(Row row) {
    const std::uint32_t requests = this->entry(row).list + 1;
    this->need_lists(requests);
    this->move_to_newest(requests, row);
  }
  Row choose(typename Base::Nothing) {
    while (this->list(fewest_).count == 0) ++fewest_;
    return this->list(fewest_).oldest;
  }
  void place(Row row, typename Base::Nothing) {
    fewest_ = 1;
    this->link_newest(1, row);
  }

  std::uint32_t fewest_ = 1;  ///< no sample has fewer requests
};

Catalog<Factory>::Entry lfu() {
  return {.name = "lfu",
          .summary = "evicts the sample with the fewest requests since it was inserted",
          .paper = "",
          .options = {},
          .make = order_factory<Lfu>()};
}

}  // namespace tandem::cache
