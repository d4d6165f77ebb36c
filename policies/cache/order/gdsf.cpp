// GDSF, GreedyDual-Size with frequency (Cherkasova, HPL-98-69R1, 1998; after Cao and Irani, USITS 1997):
// evicts the sample with the smallest key, L + requests / bytes. L is the key of the last evicted sample, so
// samples that are no longer requested become old. Of equal keys, the one that was set first is evicted.
#include <cstdint>
#include <vector>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

struct KeyedEntry : Entry {
  double key = 0;
  std::uint64_t since = 0;  ///< number of the change that set the key
  std::uint32_t place = 0;  ///< in the heap
};

template <class Ids>
class Gdsf final : public Order<Gdsf<Ids>, Ids, 1, KeyedEntry> {
  using Base = Order<Gdsf, Ids, 1, KeyedEntry>;
  friend Base;

 public:
  using Base::Base;

 private:
  static constexpr std::uint32_t here = 1;

  void touch(Row row) {
    ++this->entry(row).count;
    set_key(row);
    sink(this->entry(row).place);
  }
  Row choose(typename Base::Nothing) {
    const Row victim = heap_.front();
    inflation_ = this->entry(victim).key;
    return victim;
  }
  void leave(Row row) {
    const std::uint32_t place = this->entry(row).place;
    const Row last = heap_.back();
    heap_.pop_back();
    if (last != row) {
      put(place, last);
      sink(place);
      rise(this->entry(last).place);
    }
    this->entry(row).list = 0;
    this->entries().drop(row);
  }
  void place(Row row, typename Base::Nothing) {
    auto& entry = this->entry(row);
    entry.list = here;
    entry.count = 1;
    set_key(row);
    heap_.push_back(row);
    entry.place = static_cast<std::uint32_t>(heap_.size() - 1);
    rise(entry.place);
  }

  void set_key(Row row) {
    auto& entry = this->entry(row);
    // Samples may have no bytes.
    entry.key = inflation_ + entry.count / static_cast<double>(std::max<std::int64_t>(entry.size, 1));
    entry.since = ++changes_;
  }
  bool is_before(Row a, Row b) const {
    const auto &one = this->entry(a), &other = this->entry(b);
    return one.key < other.key || (one.key == other.key && one.since < other.since);
  }
  void put(std::uint32_t place, Row row) {
    heap_[place] = row;
    this->entry(row).place = place;
  }
  void rise(std::uint32_t place) {
    const Row row = heap_[place];
    for (; place > 0 && is_before(row, heap_[(place - 1) / 2]); place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, row);
  }
  void sink(std::uint32_t place) {
    const Row row = heap_[place];
    while (2 * place + 1 < heap_.size()) {
      std::uint32_t child = 2 * place + 1;
      if (child + 1 < heap_.size() && is_before(heap_[child + 1], heap_[child])) ++child;
      if (!is_before(heap_[child], row)) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, row);
  }

  std::vector<Row> heap_;  ///< the smallest key on top
  double inflation_ = 0;   ///< L
  std::uint64_t changes_ = 0;
};

Catalog<Factory>::Entry gdsf() {
  return {.name = "gdsf",
          .summary = "prefers small and often requested samples, and ages the others",
          .paper =
              "Cherkasova: Improving WWW Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy. "
              "HP Laboratories Report HPL-98-69R1, 1998",
          .options = {},
          .make = order_factory<Gdsf>()};
}

}  // namespace tandem::cache
