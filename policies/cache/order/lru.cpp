// LRU, least recently used (Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9(2), 1970): evicts the
// sample that has not been requested for the longest time.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Lru final : public Order<Lru<Ids>, Ids, 1> {
  using Base = Order<Lru, Ids, 1>;
  friend Base;

 public:
  using Base::Base;

 private:
  static constexpr std::uint32_t recency = 1;
  void touch(Row row) { this->move_to_newest(recency, row); }
  Row choose(typename Base::Nothing) const { return this->list(recency).oldest; }
  void place(Row row, typename Base::Nothing) { this->link_newest(recency, row); }
};

Catalog<Factory>::Entry lru() {
  return {.name = "lru",
          .summary = "evicts the least recently used sample",
          .paper =
              "Mattson, Gecsei, Slutz, Traiger: Evaluation Techniques for Storage Hierarchies. IBM Systems "
              "Journal 9(2), 1970",
          .options = {},
          .make = order_factory<Lru>(),
          .aliases = {"isa_lru"}};
}

}  // namespace tandem::cache
