// A count-min sketch (Cormode, Muthukrishnan, Journal of Algorithms 55(1), 2005) of how often ids were
// requested lately, with small counters that are halved from time to time. It grows with the number of
// samples in the cache, so no number of ids has to be known.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

class FrequencySketch {
 public:
  /// Counts go up to `most` (at most 255); they are halved after `additions` for each sample in the cache.
  FrequencySketch(std::uint8_t most, double additions) : most_(most), additions_per_sample_(additions) {}

  /// Counts one request while the cache holds `samples`.
  void add(SampleId id, std::int64_t samples) {
    while (samples > samples_per_block * std::ssize(blocks_)) grow();
    const std::uint64_t hash = hash_of(id);
    Block& block = block_of(hash);
    const std::uint8_t count = estimate_in(block, hash);
    if (count == most_) return;
    // Only the smallest counters say how often; to increment the others would only add collisions (Estan,
    // Varghese, SIGCOMM 2002).
    for (std::size_t row = 0; row < rows; ++row) {
      std::uint8_t& counter = block[cell(hash, row)];
      if (counter == count) ++counter;
    }
    if (++additions_ >= additions_per_sample_ * static_cast<double>(std::max<std::int64_t>(samples, 1)))
      halve();
  }
  std::uint8_t estimate(SampleId id) const {
    const std::uint64_t hash = hash_of(id);
    return estimate_in(blocks_[hash & (blocks_.size() - 1)], hash);
  }
  /// A hint that `id` will be counted soon.
  void prefetch(SampleId id) const { __builtin_prefetch(&blocks_[hash_of(id) & (blocks_.size() - 1)], 1); }

 private:
  static constexpr std::size_t rows = 4, row_cells = 16;
  static constexpr std::int64_t samples_per_block = 4;
  /// All counters of an id are in one block, which is one line of the processor's cache.
  struct alignas(64) Block : std::array<std::uint8_t, rows * row_cells> {};

  static std::uint64_t hash_of(SampleId id) {
    std::uint64_t z = static_cast<std::uint64_t>(id) + 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// The low bits of the hash choose the block, the high 16 the cells.
  Block& block_of(std::uint64_t hash) { return blocks_[hash & (blocks_.size() - 1)]; }
  static std::size_t cell(std::uint64_t hash, std::size_t row) {
    return row * row_cells + ((hash >> (48 + 4 * row)) & (row_cells - 1));
  }
  static std::uint8_t estimate_in(const Block& block, std::uint64_t hash) {
    std::uint8_t least = 255;
    for (std::size_t row = 0; row < rows; ++row) least = std::min(least, block[cell(hash, row)]);
    return least;
  }
  /// Twice the blocks: the ids of a block divide between two, both of which keep its counts.
  void grow() {
    const std::size_t size = blocks_.size();
    blocks_.resize(2 * size);
    std::copy_n(blocks_.begin(), size, blocks_.begin() + static_cast<std::ptrdiff_t>(size));
  }
  void halve() {
    for (Block& block : blocks_)
      for (std::uint8_t& counter : block) counter /= 2;
    additions_ /= 2;
  }

  std::uint8_t most_;
  double additions_per_sample_;
  double additions_ = 0;
  std::vector<Block> blocks_ = std::vector<Block>(16);
};

}  // namespace tandem::cache
