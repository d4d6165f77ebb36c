// The reads of a cache node: which samples are read where. Samples that a batch waits for are requested
// immediately, others one after the other. Pure: the node begins the reads.
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
    std::size_t most_of_batch = 0;    ///< samples of one read in advance, if the policy reads them one by one
    std::size_t most_of_package = 0;  ///< samples of any read in advance
    std::size_t concurrent = 1;       ///< reads in advance at the same time
  };
  explicit NodeReads(const Setting& setting);

  /// Adds decisions for a job in that epoch. Samples for which batches wait are read into these.
  void add(const cache::Decisions& decisions, int job, std::int64_t epoch, const NodeBatches& batches,
           CacheActions& actions);
  /// A batch waits for the sample, which is in the tier on the disk. `target`: empty when math is modelled.
  void add_from_tier(SampleId id, std::span<std::byte> target);
  /// Begins one read of all samples of add_from_tier().
  void read_tier(int job, std::int64_t epoch, CacheActions& actions);
  /// The tier does not have the sample, or has something else: reads it from the data set.
  void read_instead(const SampleRead& read, std::size_t position, CacheActions& actions) const;
  /// A batch waits for the sample. It may be among the reads in advance.
  void hurry(SampleId id, CacheActions& actions);
  /// Begins the next reads in advance, as many as may be in progress.
  void begin_next(CacheActions& actions);

  /// A read in advance has ended.
  void note_end() { background_.note_end(); }
  bool reads_in_advance() const { return background_.is_running(); }
  bool has_nothing_to_begin() const { return background_.is_empty(); }

  /// The sample is in flight from another node, or is to be read there.
  bool is_from_peer(SampleId id) const { return from_peers_.contains(id); }
  /// The sample is in flight from the store, because the node that was asked did not have it.
  bool is_not_at_peer(SampleId id) const { return not_at_peer_.contains(id); }
  void note_here(SampleId id);
  void note_not_here(SampleId id) { from_peers_.erase(id); }
  /// It is in flight again.
  void note_read_again(SampleId id);
  /// Sets the moment of the oldest of the directory's last answers.
  void note_moment(std::int64_t moment) { moment_ = moment; }

 private:
  void begin(const BackgroundQueue::Read& read, bool is_awaited, CacheActions& actions);
  void begin_part(std::size_t place, const BackgroundQueue::Read& part, bool is_awaited,
                  CacheActions& actions);

  Setting setting_;
  BackgroundQueue background_;
  std::vector<SampleRead> on_demand_;  ///< by place; reused
  SampleRead from_tier_;               ///< not begun yet
  std::unordered_set<SampleId> from_peers_;
  std::unordered_set<SampleId> not_at_peer_;
  std::int64_t moment_ = 0;
};

}  // namespace tandem
