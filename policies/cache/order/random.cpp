// Random: evicts any sample that is here, all with the same probability.
#include <vector>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Random final : public Order<Random<Ids>, Ids, 1> {
  using Base = Order<Random, Ids, 1>;
  friend Base;

 public:
  explicit Random(const OrderSetting& setting)
      : Base(setting), random_(Rng::stream(setting.seed, "random eviction")) {}

 private:
  static constexpr std::uint32_t here = 1;
  void touch(Row) {}
  Row choose(typename Base::Nothing) { return residents_[random_.below(residents_.size())]; }
  /// `count` of an entry is its position among the residents.
  void place(Row row, typename Base::Nothing) {
    this->entry(row).list = here;
    this->entry(row).count = static_cast<std::uint32_t>(residents_.size());
    residents_.push_back(row);
  }
  void leave(Row row) {
    const std::uint32_t position = this->entry(row).count;
    const Row last = residents_.back();
    residents_[position] = last;
    this->entry(last).count = position;
    residents_.pop_back();
    this->entry(row).list = 0;
    this->entries().drop(row);
  }

  Rng random_;
  std::vector<Row> residents_;
};

Catalog<Factory>::Entry random() {
  return {.name = "random",
          .summary = "evicts a sample drawn uniformly from those in the cache",
          .paper = "",
          .options = {},
          .make = order_factory<Random>()};
}

}  // namespace tandem::cache
