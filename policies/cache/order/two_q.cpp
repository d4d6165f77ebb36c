// 2Q, full version (Johnson, Shasha, VLDB 1994). New samples enter a FIFO (A1in). Of those that leave it, the
// ids are remembered (A1out); a sample that is requested while it is remembered goes to an LRU list (Am).
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class TwoQ final : public Order<TwoQ<Ids>, Ids, 3> {
  using Base = Order<TwoQ, Ids, 3>;
  friend Base;

 public:
  explicit TwoQ(const OrderSetting& setting)
      : Base(setting),
        in_bytes_(share_of(setting.capacity, setting.options.real("in"))),
        out_bytes_(share_of(setting.capacity, setting.options.real("out"))) {}

 private:
  enum List : std::uint32_t { in = 1, main = 2, out = 3 };
  using Recalled = bool;

  bool is_resident(const Entry& entry) const { return entry.list == in || entry.list == main; }
  void touch(Row row) {
    if (this->entry(row).list == main) this->move_to_newest(main, row);
  }
  Recalled recall(Row row, std::int64_t) {
    const bool is_remembered = this->entry(row).list == out;
    if (is_remembered) this->unlink(row);
    return is_remembered;
  }
  Row choose(Recalled) const {
    const bool from_in = this->list(in).bytes > in_bytes_ || this->list(main).count == 0;
    return this->list(from_in ? in : main).oldest;
  }
  void leave(Row row) {
    if (this->entry(row).list == main) return Base::leave(row);
    this->unlink(row);
    this->link_newest(out, row);
    while (this->list(out).bytes > out_bytes_) this->forget_oldest(out);
  }
  void place(Row row, Recalled is_remembered) { this->link_newest(is_remembered ? main : in, row); }

  std::int64_t in_bytes_;
  std::int64_t out_bytes_;
};

Catalog<Factory>::Entry two_q() {
  return {
      .name = "two-q",
      .summary = "a FIFO for new samples, and an LRU list for those requested again soon after they left it",
      .paper =
          "Johnson, Shasha: 2Q: A Low Overhead High Performance Buffer Management Replacement Algorithm. "
          "VLDB 1994",
      .options = {{"in", "share of the capacity for new samples", 0.25, 0.0, 1.0},
                  {"out", "bytes of remembered samples, relative to the capacity", 0.5, 0.0, 10.0}},
      .make = order_factory<TwoQ>()};
}

}  // namespace tandem::cache
