// The entries of an eviction order: one for each sample that it holds or remembers, found by the sample's id.
// Two tables with the same interface: ids that are numbered densely from 0, and any ids.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/cache/id_index.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

using Row = std::uint32_t;
inline constexpr Row no_row = 0xffffffffU;

/// The data of an order about a sample. Orders that need more derive from it.
struct Entry {
  Row newer = no_row;  ///< neighbours in its list
  Row older = no_row;
  std::int64_t size = 0;  ///< bytes
  std::uint32_t count = 0;
  std::uint32_t list = 0;  ///< number of its list; 0: the sample is unknown
};

/// Ids from 0 to a number that is known before: an entry's row is its id.
struct DenseIds {
  template <class E>
  class Table {
   public:
    explicit Table(std::size_t ids) : entries_(ids) {}
    /// The row of a known sample, or `no_row`. Pre: the id is below the number of ids.
    Row find(SampleId id) const {
      const auto row = static_cast<Row>(id);
      return entries_[row].list == 0 ? no_row : row;
    }
    Row take(SampleId id) { return static_cast<Row>(id); }
    /// Pre: the entry's list is 0.
    void drop(Row) {}
    SampleId id_of(Row row) const { return static_cast<SampleId>(row); }
    E& operator[](Row row) { return entries_[row]; }
    const E& operator[](Row row) const { return entries_[row]; }
    void prefetch(SampleId id) const { __builtin_prefetch(&entries_[static_cast<std::size_t>(id)], 1); }

   private:
    std::vector<E> entries_;
  };
};

/// Any ids. Rows are reused; the table allocates only when it knows more samples than ever before.
struct AnyIds {
  template <class E>
  class Table {
   public:
    /// `ids` is not needed.
    explicit Table(std::size_t = 0) {}
    Row find(SampleId id) const { return index_.find(id); }
    /// The row of a known sample, or a new one.
    Row take(SampleId id) {
      if (const Row known = index_.find(id); known != no_row) return known;
      Row row = static_cast<Row>(known_.size());
      if (free_.empty()) {
        known_.push_back({{}, id});
      } else {
        row = free_.back();
        free_.pop_back();
        known_[row] = {{}, id};
      }
      index_.insert(id, row);
      return row;
    }
    void drop(Row row) {
      index_.erase(known_[row].id);
      free_.push_back(row);
    }
    SampleId id_of(Row row) const { return known_[row].id; }
    E& operator[](Row row) { return known_[row].entry; }
    const E& operator[](Row row) const { return known_[row].entry; }
    void prefetch(SampleId) const {}

   private:
    /// Together, because an eviction reads both.
    struct Known {
      E entry;
      SampleId id;
    };
    IdIndex index_;
    std::vector<Known> known_;
    std::vector<Row> free_;
  };
};

}  // namespace tandem::cache
