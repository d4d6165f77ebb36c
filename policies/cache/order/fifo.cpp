// FIFO (Belady, IBM Systems Journal 5(2), 1966): evicts the sample that was inserted first.
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Fifo final : public Order<Fifo<Ids>, Ids, 1> {
  using Base = Order<Fifo, Ids, 1>;
  friend Base;

 public:
  using Base::Base;

 private:
  static constexpr std::uint32_t queue = 1;
  void touch(Row) {}
  Row choose(typename Base::Nothing) const { return this->list(queue).oldest; }
  void place(Row row, typename Base::Nothing) { this->link_newest(queue, row); }
};

Catalog<Factory>::Entry fifo() {
  return {.name = "fifo",
          .summary = "evicts the sample that was inserted first",
          .paper =
              "Belady: A Study of Replacement Algorithms for a Virtual-Storage Computer. IBM Systems Journal "
              "5(2), 1966",
          .options = {},
          .make = order_factory<Fifo>()};
}

}  // namespace tandem::cache
