// The content of the tiers of a cache node: records in memory, samples on the disk, and bad samples. Pure:
// the policy decides which samples are kept. The node writes to the disk, removes from it and logs the
// content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/roles/cache/cache_actions.hpp"
#include "workloads/roles/cache/node_job.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

class TierKeeper {
 public:
  struct Setting {
    cache::Manifest manifest = {};
    bool is_real = false;   ///< math
    bool has_disk = false;  ///< a second tier
    std::size_t disk = 0;   ///< the number of its disk among ReadPlaces
  };
  /// `engine`: says in which tier a sample belongs; it must outlive this.
  TierKeeper(const Setting& setting, const CacheEngine& engine) : setting_(setting), engine_(engine) {}

  /// An earlier process has left these samples on the disk, and others that were spoiled. The engine knows
  /// them. Returns those for which the tier has room: it may be smaller than before.
  std::vector<TierEntry> begin(std::vector<TierEntry> left, std::int64_t spoiled, CacheActions& actions);
  /// Records what `begin` has found. To be called once, in the first epoch that is requested.
  void record_left(NodeJob& job);

  /// The sample could not be read, or differs from the data set.
  bool is_bad(SampleId id) const { return bad_.contains(id); }
  /// Pre: the sample is not in flight. Without a tier on the disk, modelled samples are not kept.
  bool is_in_memory(SampleId id) const { return !setting_.has_disk || kept_.contains(id); }
  /// Empty when math is modelled. Pre: is_in_memory(id).
  std::span<const std::byte> record_of(SampleId id) const;

  /// Moves samples to their tier after all of these moves. A sample that is being read goes there when it
  /// has been read.
  void move(std::span<const cache::Move> moves, CacheActions& actions);
  /// The sample at that position was read, or cannot be: it is kept where it belongs. `finish` follows.
  void settle(const SampleRead& read, std::size_t position, CacheActions& actions);
  /// Starts one write of all samples that have to go to the disk.
  void finish(CacheActions& actions);
  /// A write has ended. Returns the samples for which the disk had no room: they are read from the data set
  /// again, since the tier is smaller than its capacity.
  SampleCount note_written(const SampleRead& write, CacheActions& actions);

 private:
  void write(SampleId id, std::vector<std::byte> record);

  Setting setting_;
  const CacheEngine& engine_;
  /// The records in memory. Nothing if math is modelled and memory is the only tier; empty records if there
  /// is also a disk.
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  std::unordered_set<SampleId> bad_;
  bool is_full_ = false;  ///< the disk had no room for a sample
  SampleRead to_write_;   ///< that is not begun
  SampleCount left_;
  std::int64_t spoiled_ = 0;
};

}  // namespace tandem
