// The entries of an eviction order: one for each sample that it holds or remembers, found by the sample's id.
// Two tables with the same interface: ids that are numbered densely from 0, and any ids.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/cache/id_index.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

using Slot = std::uint32_t;
inline constexpr Slot no_slot = 0xffffffffU;

/// What an order knows about a sample. Orders that need more derive from it.
struct Entry {
  Slot newer = no_slot;  ///< neighbours in its list
  Slot older = no_slot;
  std::int64_t size = 0;  ///< bytes
  std::uint32_t count = 0;
  std::uint32_t list = 0;  ///< number of its list; 0: the sample is unknown
};

/// Ids from 0 to a number that is known before: an entry's slot is its id.
struct DenseIds {
  template <class E>
  class Table {
   public:
    explicit Table(std::size_t ids) : entries_(ids) {}
    /// The slot of a known sample, or `no_slot`. Pre: the id is below the number of ids.
    Slot find(SampleId id) const {
      const auto slot = static_cast<Slot>(id);
      return entries_[slot].list == 0 ? no_slot : slot;
    }
    Slot take(SampleId id) { return static_cast<Slot>(id); }
    /// Pre: the entry's list is 0.
    void drop(Slot) {}
    SampleId id_of(Slot slot) const { return static_cast<SampleId>(slot); }
    E& operator[](Slot slot) { return entries_[slot]; }
    const E& operator[](Slot slot) const { return entries_[slot]; }
    void prefetch(SampleId id) const { __builtin_prefetch(&entries_[static_cast<std::size_t>(id)], 1); }

   private:
    std::vector<E> entries_;
  };
};

/// Any ids. Slots are reused; the table allocates only when it knows more samples than ever before.
struct AnyIds {
  template <class E>
  class Table {
   public:
    /// `ids` is not needed.
    explicit Table(std::size_t = 0) {}
    Slot find(SampleId id) const { return index_.find(id); }
    /// The slot of a known sample, or a new one.
    Slot take(SampleId id) {
      if (const Slot known = index_.find(id); known != no_slot) return known;
      Slot slot = static_cast<Slot>(known_.size());
      if (free_.empty()) {
        known_.push_back({{}, id});
      } else {
        slot = free_.back();
        free_.pop_back();
        known_[slot] = {{}, id};
      }
      index_.insert(id, slot);
      return slot;
    }
    void drop(Slot slot) {
      index_.erase(known_[slot].id);
      free_.push_back(slot);
    }
    SampleId id_of(Slot slot) const { return known_[slot].id; }
    E& operator[](Slot slot) { return known_[slot].entry; }
    const E& operator[](Slot slot) const { return known_[slot].entry; }
    void prefetch(SampleId) const {}

   private:
    /// Together, because an eviction reads both.
    struct Known {
      E entry;
      SampleId id;
    };
    IdIndex index_;
    std::vector<Known> known_;
    std::vector<Slot> free_;
  };
};

}  // namespace tandem::cache
