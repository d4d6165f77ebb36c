// Which samples a worker owns, and in which order it visits them. Pure functions of the seed; nothing dropped.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::sampling {

/// Splits sample ids over `workers` shards; shard sizes differ by at most one and every id is in exactly one.
/// `labels`: one class a sample (empty for splits that ignore it).
using Split = std::vector<std::vector<SampleId>> (*)(std::int64_t samples, std::span<const std::uint8_t> labels,
                                                     int workers, std::uint64_t seed);
/// Names: "iid" (seeded random), "by-class" (sorted by class, cut into contiguous chunks).
const Catalog<Split>& splits();

/// Visits a shard epoch after epoch, reshuffled each time; a batch may span two epochs, so none is short.
class Sampler {
 public:
  /// Pre: shard not empty.
  Sampler(std::vector<SampleId> shard, std::uint64_t seed, int worker);
  /// The next `count` ids, appended after clearing `batch`.
  void next(int count, std::vector<SampleId>& batch);
  int epoch() const { return epoch_; }

 private:
  void reshuffle();
  std::vector<SampleId> shard_;
  std::vector<SampleId> order_;
  std::uint64_t seed_;
  int worker_;
  int epoch_ = 0;
  std::size_t position_ = 0;
};

}  // namespace tandem::sampling
