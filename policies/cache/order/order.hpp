// The common part of all eviction orders: the entries, the linked lists through them, the accounting of
// bytes and the loop that makes room. An order adds how samples move between its lists and which one is
// evicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/cache/order/entries.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {

struct OrderSetting {
  Bytes capacity;
  std::size_t ids = 0;     ///< for DenseIds: all ids are below
  std::uint64_t seed = 1;  ///< of orders that draw numbers
  Options options = {};    ///< of the order
};

inline std::int64_t share_of(Bytes capacity, double share) {
  return static_cast<std::int64_t>(static_cast<double>(capacity.count()) * share);
}

/// A list through entries, from the newest to the oldest.
struct EntryList {
  Row newest = no_row;
  Row oldest = no_row;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

/// `Self` derives from this class and has, with `Recalled` a type of its own choice:
///   Recalled recall(Row, std::int64_t size): a sample will be inserted; what the order remembers of it.
///     The entry is in no list afterwards.
///   Row choose(Recalled): the sample to evict, still in a resident list. Or, instead of it,
///   Row choose_next(Recalled, std::int64_t size): the same, or `no_row` where nothing has to be evicted
///     for a sample of this size.
///   void leave(Row): the sample is evicted; unlinks the entry, or moves it to a list of remembered ids.
///   void place(Row, Recalled): links the entry of an inserted sample.
///   void touch(Row): a resident sample was requested.
///   bool is_resident(const Entry&).
template <class Self, class Ids, int lists, class E = Entry>
class Order {
 public:
  explicit Order(const OrderSetting& setting) : capacity_(setting.capacity.count()), entries_(setting.ids) {}

  bool holds(SampleId id) const {
    const Row row = entries_.find(id);
    return row != no_row && self().is_resident(entries_[row]);
  }
  /// Notes a request. False: the sample is not here, and may be inserted next.
  bool hit(SampleId id) {
    const Row row = entries_.find(id);
    if (row == no_row || !self().is_resident(entries_[row])) return false;
    self().touch(row);
    return true;
  }
  /// Inserts a sample that is not here, and evicts until it fits; `on_evicted(id, bytes)` for each. False:
  /// the order does not admit it.
  template <class OnEvicted>
  bool insert(SampleId id, std::int64_t size, OnEvicted&& on_evicted) {
    if (!self().admits(size)) return false;
    const Row row = entries_.take(id);
    const auto recalled = self().recall(row, size);
    for (;;) {
      const Row victim = self().choose_next(recalled, size);
      if (victim == no_row) break;
      const SampleId gone = entries_.id_of(victim);
      const std::int64_t bytes = entries_[victim].size;
      used_ -= bytes;
      self().leave(victim);
      on_evicted(gone, bytes);
    }
    entries_[row].size = size;
    used_ += size;
    self().place(row, recalled);
    return true;
  }
  /// Pre: the order holds the sample.
  void remove(SampleId id) {
    const Row row = entries_.find(id);
    TANDEM_CHECK(row != no_row && self().is_resident(entries_[row]), "id", id);
    used_ -= entries_[row].size;
    self().leave(row);
  }
  Bytes used() const { return Bytes(used_); }
  std::int64_t capacity() const { return capacity_; }
  /// A hint that the sample will be requested soon.
  void prefetch(SampleId id) const { entries_.prefetch(id); }

 protected:
  // Defaults for orders that remember nothing of samples that are not here.
  struct Nothing {};
  Nothing recall(Row, std::int64_t) { return {}; }
  template <class Recalled>
  Row choose_next(const Recalled& recalled, std::int64_t size) {
    return used_ + size > capacity_ ? self().choose(recalled) : no_row;
  }
  bool admits(std::int64_t size) const { return size <= capacity_; }
  bool is_resident(const E& entry) const { return entry.list != 0; }
  void leave(Row row) {
    unlink(row);
    entries_.drop(row);
  }

  EntryList& list(std::uint32_t number) { return lists_[number - 1]; }
  const EntryList& list(std::uint32_t number) const { return lists_[number - 1]; }
  /// Adds empty lists until there are this many.
  void need_lists(std::uint32_t count) {
    if (count > lists_.size()) lists_.resize(count);
  }
  E& entry(Row row) { return entries_[row]; }
  const E& entry(Row row) const { return entries_[row]; }
  auto& entries() { return entries_; }

  void link_newest(std::uint32_t number, Row row) {
    EntryList& target = list(number);
    E& linked = entries_[row];
    linked.list = number;
    linked.newer = no_row;
    linked.older = target.newest;
    if (target.newest != no_row) entries_[target.newest].newer = row;
    target.newest = row;
    if (target.oldest == no_row) target.oldest = row;
    target.bytes += linked.size;
    ++target.count;
  }
  void unlink(Row row) {
    E& linked = entries_[row];
    EntryList& from = list(linked.list);
    (linked.newer == no_row ? from.newest : entries_[linked.newer].older) = linked.older;
    (linked.older == no_row ? from.oldest : entries_[linked.older].newer) = linked.newer;
    from.bytes -= linked.size;
    --from.count;
    linked.list = 0;
  }
  void move_to_newest(std::uint32_t number, Row row) {
    if (entries_[row].list == number && list(number).newest == row) return;
    unlink(row);
    link_newest(number, row);
  }
  /// Forgets the oldest entry of a list of remembered ids.
  void forget_oldest(std::uint32_t number) {
    const Row row = list(number).oldest;
    unlink(row);
    entries_.drop(row);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  const Self& self() const { return static_cast<const Self&>(*this); }

  std::int64_t capacity_;
  std::int64_t used_ = 0;
  typename Ids::template Table<E> entries_;
  std::vector<EntryList> lists_ = std::vector<EntryList>(lists);
};

}  // namespace tandem::cache
