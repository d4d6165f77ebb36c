// A hash table from sample ids to rows, for cache policies. With open addressing, a look-up reads about one
// cache line, where std::unordered_map follows pointers and divides. It holds no bytes and evicts nothing.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

/// Maps ids to rows. Allocates only when it grows.
class IdIndex {
 public:
  using Row = std::uint32_t;
  static constexpr Row none = 0xffffffffU;

  std::size_t size() const { return size_; }

  /// The row of `id`, or `none`.
  Row find(SampleId id) const { return cells_[cell_of(id)].row; }

  /// A hint that `id` will be looked up soon.
  void prefetch(SampleId id) const { __builtin_prefetch(&cells_[home_of(id)]); }

  /// Pre: `id` is absent, `row` is not `none`.
  void insert(SampleId id, Row row) {
    if (2 * (size_ + 1) > cells_.size()) grow();
    Cell& cell = cells_[cell_of(id)];
    TANDEM_CHECK(cell.row == none && row != none, "id", id, "row", row);
    cell = {id, row};
    ++size_;
  }

  /// Pre: `id` is present.
  void erase(SampleId id) {
    std::size_t hole = cell_of(id);
    TANDEM_CHECK(cells_[hole].row != none, "id", id);
    // Later cells of the run move back into the hole unless their home cell is after it (Knuth, 6.4,
    // algorithm R).
    for (std::size_t next = following(hole); cells_[next].row != none; next = following(next)) {
      const std::size_t distance_to_home = (next - home_of(cells_[next].id)) & mask();
      if (distance_to_home >= ((next - hole) & mask())) {
        cells_[hole] = cells_[next];
        hole = next;
      }
    }
    cells_[hole].row = none;
    --size_;
  }

 private:
  struct Cell {
    SampleId id = 0;
    Row row = none;
  };

  std::size_t mask() const { return cells_.size() - 1; }
  std::size_t following(std::size_t cell) const { return (cell + 1) & mask(); }
  std::size_t home_of(SampleId id) const {
    // Fibonacci hashing: the high bits of the product are well mixed even for consecutive ids.
    return static_cast<std::size_t>((static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15ULL) >> shift_);
  }
  /// The cell that holds `id`, or the empty one for it.
  std::size_t cell_of(SampleId id) const {
    std::size_t cell = home_of(id);
    while (cells_[cell].row != none && cells_[cell].id != id) cell = following(cell);
    return cell;
  }
  void grow() {
    std::vector<Cell> old = std::exchange(cells_, std::vector<Cell>(cells_.size() * 2));
    shift_ = 64 - std::countr_zero(cells_.size());
    for (const Cell& cell : old)
      if (cell.row != none) cells_[cell_of(cell.id)] = cell;
  }

  std::vector<Cell> cells_ = std::vector<Cell>(16);
  int shift_ = 60;
  std::size_t size_ = 0;
};

}  // namespace tandem::cache
