// ARC, adaptive replacement cache (Megiddo, Modha, FAST 2003). Samples requested once (T1) and more often
// (T2) share the cache; the ids that left each of them are remembered (B1, B2), and a request for one of
// these moves the target size of T1. Sizes and targets are bytes.
#include <algorithm>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class Arc final : public Order<Arc<Ids>, Ids, 4> {
  using Base = Order<Arc, Ids, 4>;
  friend Base;

 public:
  using Base::Base;

 private:
  enum List : std::uint32_t { once = 1, often = 2, left_once = 3, left_often = 4 };
  struct Recalled {
    std::uint32_t from;
    bool fills_history;  ///< the oldest sample of T1 is evicted without being remembered
  };

  std::int64_t bytes(List number) const { return this->list(number).bytes; }
  bool is_resident(const Entry& entry) const { return entry.list == once || entry.list == often; }
  void touch(Row row) { this->move_to_newest(often, row); }

  Recalled recall(Row row, std::int64_t size) {
    const std::uint32_t from = this->entry(row).list;
    if (from == left_once || from == left_often) {
      // Samples may have no bytes.
      const double here = std::max(static_cast<double>(bytes(static_cast<List>(from))), 1.0);
      const double other = static_cast<double>(bytes(from == left_once ? left_often : left_once));
      const double step = std::max(other / here, 1.0) * static_cast<double>(size);
      target_ = std::clamp(from == left_once ? target_ + step : target_ - step, 0.0,
                           static_cast<double>(this->capacity()));
      this->unlink(row);
      return {from, false};
    }
    // A new sample: keeps T1 + B1 within the capacity, and all four lists within twice the capacity.
    const std::int64_t capacity = this->capacity();
    while (bytes(once) + bytes(left_once) + size > capacity && this->list(left_once).count > 0)
      this->forget_oldest(left_once);
    const bool fills_history = bytes(once) + size > capacity;
    // A sample that is evicted without being remembered makes room in the history, too.
    const std::int64_t added = fills_history ? 0 : size;
    while (this->used().count() + bytes(left_once) + bytes(left_often) + added > 2 * capacity &&
           this->list(left_often).count > 0)
      this->forget_oldest(left_often);
    return {0, fills_history};
  }
  Row choose(const Recalled& recalled) {
    forgets_ = recalled.fills_history && this->list(once).count > 0;
    if (forgets_) return this->list(once).oldest;
    const double in_once = static_cast<double>(bytes(once));
    const bool from_once = this->list(once).count > 0 &&
                           (in_once > target_ || (in_once == target_ && recalled.from == left_often) ||
                            this->list(often).count == 0);
    return this->list(from_once ? once : often).oldest;
  }
  void leave(Row row) {
    if (forgets_) return Base::leave(row);
    const bool is_once = this->entry(row).list == once;
    this->unlink(row);
    this->link_newest(is_once ? left_once : left_often, row);
  }
  void place(Row row, const Recalled& recalled) { this->link_newest(recalled.from == 0 ? once : often, row); }

  double target_ = 0;  ///< of T1, bytes
  bool forgets_ = false;
};

Catalog<Factory>::Entry arc() {
  return {
      .name = "arc",
      .summary = "balances samples requested once and more often by the requests for those that it evicted",
      .paper = "Megiddo, Modha: ARC: A Self-Tuning, Low Overhead Replacement Cache. FAST 2003",
      .options = {},
      .make = order_factory<Arc>()};
}

}  // namespace tandem::cache
