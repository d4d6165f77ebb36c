// What all eviction orders share: the entries, the linked lists through them, the accounting of bytes and the
// loop that makes room. An order adds how samples move between its lists and which one leaves.
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
  Slot newest = no_slot;
  Slot oldest = no_slot;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

/// `Self` derives from this class and has, with `Recalled` a type of its own choice:
///   Recalled recall(Slot, std::int64_t size): a sample will be inserted; what the order remembers of it.
///     The entry is in no list afterwards.
///   Slot choose(Recalled): the sample to evict, still in a resident list. Or, instead of it,
///   Slot choose_next(Recalled, std::int64_t size): the same, or `no_slot` where nothing has to be evicted
///     for a sample of this size.
///   void leave(Slot): the sample is evicted; unlinks the entry, or moves it to a list of remembered ids.
///   void place(Slot, Recalled): links the entry of an inserted sample.
///   void touch(Slot): a resident sample was requested.
///   bool is_resident(const Entry&).
template <class Self, class Ids, int lists, class E = Entry>
class Order {
 public:
  explicit Order(const OrderSetting& setting) : capacity_(setting.capacity.count()), entries_(setting.ids) {}

  bool holds(SampleId id) const {
    const Slot slot = entries_.find(id);
    return slot != no_slot && self().is_resident(entries_[slot]);
  }
  /// Notes a request. False: the sample is not here, and may be inserted next.
  bool hit(SampleId id) {
    const Slot slot = entries_.find(id);
    if (slot == no_slot || !self().is_resident(entries_[slot])) return false;
    self().touch(slot);
    return true;
  }
  /// Inserts a sample that is not here, and evicts until it fits; `on_evicted(id, bytes)` for each. False:
  /// the order does not admit it.
  template <class OnEvicted>
  bool insert(SampleId id, std::int64_t size, OnEvicted&& on_evicted) {
    if (!self().admits(size)) return false;
    const Slot slot = entries_.take(id);
    const auto recalled = self().recall(slot, size);
    for (;;) {
      const Slot victim = self().choose_next(recalled, size);
      if (victim == no_slot) break;
      const SampleId gone = entries_.id_of(victim);
      const std::int64_t bytes = entries_[victim].size;
      used_ -= bytes;
      self().leave(victim);
      on_evicted(gone, bytes);
    }
    entries_[slot].size = size;
    used_ += size;
    self().place(slot, recalled);
    return true;
  }
  /// Pre: the order holds the sample.
  void remove(SampleId id) {
    const Slot slot = entries_.find(id);
    TANDEM_CHECK(slot != no_slot && self().is_resident(entries_[slot]), "id", id);
    used_ -= entries_[slot].size;
    self().leave(slot);
  }
  Bytes used() const { return Bytes(used_); }
  std::int64_t capacity() const { return capacity_; }
  /// A hint that the sample will be requested soon.
  void prefetch(SampleId id) const { entries_.prefetch(id); }

 protected:
  // Defaults for orders that remember nothing of samples that are not here.
  struct Nothing {};
  Nothing recall(Slot, std::int64_t) { return {}; }
  template <class Recalled>
  Slot choose_next(const Recalled& recalled, std::int64_t size) {
    return used_ + size > capacity_ ? self().choose(recalled) : no_slot;
  }
  bool admits(std::int64_t size) const { return size <= capacity_; }
  bool is_resident(const E& entry) const { return entry.list != 0; }
  void leave(Slot slot) {
    unlink(slot);
    entries_.drop(slot);
  }

  EntryList& list(std::uint32_t number) { return lists_[number - 1]; }
  const EntryList& list(std::uint32_t number) const { return lists_[number - 1]; }
  /// Adds empty lists until there are this many.
  void need_lists(std::uint32_t count) {
    if (count > lists_.size()) lists_.resize(count);
  }
  E& entry(Slot slot) { return entries_[slot]; }
  const E& entry(Slot slot) const { return entries_[slot]; }
  auto& entries() { return entries_; }

  void link_newest(std::uint32_t number, Slot slot) {
    EntryList& target = list(number);
    E& linked = entries_[slot];
    linked.list = number;
    linked.newer = no_slot;
    linked.older = target.newest;
    if (target.newest != no_slot) entries_[target.newest].newer = slot;
    target.newest = slot;
    if (target.oldest == no_slot) target.oldest = slot;
    target.bytes += linked.size;
    ++target.count;
  }
  void unlink(Slot slot) {
    E& linked = entries_[slot];
    EntryList& from = list(linked.list);
    (linked.newer == no_slot ? from.newest : entries_[linked.newer].older) = linked.older;
    (linked.older == no_slot ? from.oldest : entries_[linked.older].newer) = linked.newer;
    from.bytes -= linked.size;
    --from.count;
    linked.list = 0;
  }
  void move_to_newest(std::uint32_t number, Slot slot) {
    if (entries_[slot].list == number && list(number).newest == slot) return;
    unlink(slot);
    link_newest(number, slot);
  }
  /// Forgets the oldest entry of a list of remembered ids.
  void forget_oldest(std::uint32_t number) {
    const Slot slot = list(number).oldest;
    unlink(slot);
    entries_.drop(slot);
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
