// The reads of a cache node: which samples are asked for where, those for which a batch waits at once, others
// one after the other. Pure: the node begins the reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/roles/cache/background_queue.hpp"
#include "workloads/roles/cache/cache_actions.hpp"
#include "workloads/roles/cache/node_batches.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

class NodeReads {
 public:
  struct Setting {
    cache::Manifest manifest = {};
    ReadPlaces places = {};
    bool is_real = false;             ///< math
    std::size_t most_of_batch = 0;    ///< samples that are read in advance at once, if one by one
    std::size_t most_of_package = 0;  ///< samples of any read in advance
    std::size_t concurrent = 1;       ///< reads in advance at the same time
  };
  explicit NodeReads(const Setting& setting);

  /// What was decided for a job in that epoch. What batches wait for is read into these.
  void add(const cache::Decisions& decisions, int job, std::int64_t epoch, const NodeBatches& batches,
           CacheActions& actions);
  /// A batch waits for the sample, which is in the tier on the disk. `target`: empty when math is modelled.
  void add_from_tier(SampleId id, std::span<std::byte> target);
  /// All of these, in one read.
  void read_tier(int job, std::int64_t epoch, CacheActions& actions);
  /// The tier should have the sample, and has not, or something else: its data set has it.
  void read_instead(const SampleRead& read, std::size_t position, CacheActions& actions) const;
  /// A batch waits for the sample, which may have been decided to be read in advance.
  void hurry(SampleId id, CacheActions& actions);
  /// The next ones in advance, as many as may be under way.
  void begin_next(CacheActions& actions);

  /// A read in advance has ended.
  void note_end() { background_.note_end(); }
  bool reads_in_advance() const { return background_.is_running(); }
  bool has_nothing_to_begin() const { return background_.is_empty(); }

  /// In flight from another node, or to be read there.
  bool is_from_peer(SampleId id) const { return from_peers_.contains(id); }
  /// In flight from the store because the node that was asked did not have it.
  bool is_not_at_peer(SampleId id) const { return not_at_peer_.contains(id); }
  void note_here(SampleId id);
  void note_not_here(SampleId id) { from_peers_.erase(id); }
  /// It is in flight again.
  void note_read_again(SampleId id);
  /// Of the oldest of the last answers of the directory.
  void note_moment(std::int64_t moment) { moment_ = moment; }

 private:
  void begin(const BackgroundQueue::Read& read, bool is_awaited, CacheActions& actions);
  void begin_part(std::size_t place, const BackgroundQueue::Read& part, bool is_awaited,
                  CacheActions& actions);

  Setting setting_;
  BackgroundQueue background_;
  std::vector<SampleRead> on_demand_;  ///< by place; reused
  SampleRead from_tier_;               ///< that is not begun
  std::unordered_set<SampleId> from_peers_;
  std::unordered_set<SampleId> not_at_peer_;
  std::int64_t moment_ = 0;
};

}  // namespace tandem
