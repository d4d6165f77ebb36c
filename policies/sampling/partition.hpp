// Which samples a worker owns, and in which order it visits them. Pure functions of the seed; no sample is
// dropped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/rng.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::sampling {

/// The samples to divide, and the workers to divide them among.
struct Setting {
  std::int64_t samples;
  std::span<const std::uint16_t> labels;  ///< the class of each sample; empty for splits that ignore it
  int workers;
  std::uint64_t seed;
  Options options = {};
};

/// The ids of each worker.
using Shards = std::vector<std::vector<SampleId>>;

/// Sizes that differ by at most one, larger ones first.
std::vector<std::int64_t> equal_sizes(const Setting& setting);

struct Split {
  /// Every id is in exactly one shard, unless the split replicates. No shard is empty if there are as many
  /// samples as workers. Errors: ConfigError if labels are needed and a sample has none.
  Shards (*deal)(const Setting& setting);
  bool needs_labels = false;
  bool replicates = false;  ///< every worker has all samples
  /// Samples of each worker. Labels and seed are not used.
  std::vector<std::int64_t> (*sizes)(const Setting& setting) = equal_sizes;
};
const Catalog<Split>& splits();

/// Errors: ConfigError unless there is a label for each sample.
void expect_labels(const std::string& split, const Setting& setting);

/// The rest of an epoch.
struct Rest {
  std::vector<SampleId> ids = {};
  int epoch = 0;
};

/// Visits a shard epoch after epoch, reshuffled each time; a batch may span two epochs, so none is short.
class ShardVisits {
 public:
  /// Pre: shard not empty.
  ShardVisits(std::vector<SampleId> shard, std::uint64_t seed, int worker);
  /// Visits the ids of `first`, in an order of their own, then the shard from the next epoch on.
  ShardVisits(std::vector<SampleId> shard, std::uint64_t seed, int worker, Rest first);
  /// Sets `batch` to the next `count` ids. `epochs`: set to the epoch of each id; null: not needed.
  void next(int count, std::vector<SampleId>& batch, std::vector<std::int32_t>* epochs = nullptr);
  /// Continues as after `count` further ids.
  void skip(std::int64_t count);
  int epoch() const { return epoch_; }
  /// The samples that it visits in every epoch, except perhaps the first one.
  const std::vector<SampleId>& shard() const { return shard_; }
  /// The rest of the epoch in progress. An epoch begins when its first id is taken.
  Rest rest() const;

 private:
  void reshuffle();
  const std::vector<SampleId>& ids_of(int epoch) const {
    return first_ && epoch == first_->epoch ? first_->ids : shard_;
  }
  std::vector<SampleId> shard_;
  std::optional<Rest> first_;
  std::vector<SampleId> order_;
  std::uint64_t seed_;
  int worker_;
  int epoch_ = 0;
  std::size_t position_ = 0;
};

}  // namespace tandem::sampling
