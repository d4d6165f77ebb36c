// CLOCK, second chance (Corbato, MIT Project MAC, 1968): FIFO, but a sample that was requested since the hand
// last passed it is inserted again instead of being evicted.
#include <algorithm>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Clock final : public Order<Clock<Ids>, Ids, 1> {
  using Base = Order<Clock, Ids, 1>;
  friend Base;

 public:
  explicit Clock(const OrderSetting& setting)
      : Base(setting), most_((1U << setting.options.integer("bits")) - 1) {}

 private:
  static constexpr std::uint32_t queue = 1;
  void touch(Row row) {
    auto& count = this->entry(row).count;
    count = std::min(count + 1, most_);
  }
  Row choose(typename Base::Nothing) {
    for (;;) {
      const Row oldest = this->list(queue).oldest;
      auto& count = this->entry(oldest).count;
      if (count == 0) return oldest;
      --count;
      this->move_to_newest(queue, oldest);
    }
  }
  void place(Row row, typename Base::Nothing) {
    this->entry(row).count = 0;
    this->link_newest(queue, row);
  }

  std::uint32_t most_;  ///< a sample's counter goes from 0 to this
};

Catalog<Factory>::Entry clock() {
  return {.name = "clock",
          .summary = "FIFO that gives samples requested meanwhile a second chance",
          .paper = "Corbato: A Paging Experiment with the Multics System. MIT Project MAC, 1968",
          .options = {{"bits", "bits of a sample's counter of requests", std::int64_t{1}, 1, 8}},
          .make = order_factory<Clock>()};
}

}  // namespace tandem::cache
