// The places from which a cache node reads, as operations of its context: stores or its own disk, the other
// cache nodes, and the disk of its second tier.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/roles/cache/peer_source.hpp"
#include "workloads/roles/cache/sample_read.hpp"
#include "workloads/roles/cache/sample_reads.hpp"

namespace tandem {

class NodeSources {
 public:
  /// `tier`: null when math is modelled, and where memory is the only tier. The arguments must outlive it.
  NodeSources(const Job& job, Context& context, const ReadPlaces& places, TierFile* tier);

  std::size_t size() const { return sources_.size(); }
  /// `place`: as numbered in ReadPlaces.
  void add(std::size_t place, SampleRead read) { sources_[place]->add(std::move(read)); }
  /// Fills the empty entries of places that have a read: one entry for each place.
  void put_next(std::span<Pending> waits);
  /// An operation of put_next has ended. None: its read has not ended.
  std::optional<SampleRead> take_ended(std::size_t place, const Completion& ended);
  /// A read from another node that is not there; none: there is no such read.
  std::optional<SampleRead> take_refused();
  /// No read follows.
  void close(std::span<Pending> waits);

  /// Bytes that wait to be written into the tier.
  Bytes to_write() const { return disk_ == nullptr ? Bytes(0) : disk_->to_write(); }
  void remove_from_tier(SampleId id) { disk_->remove(id); }
  std::span<StoreSource* const> stores() const { return stores_; }
  std::span<PeerSource* const> peers() const { return peers_; }

 private:
  void add_disk(const Job& job, const GivenSamples& given, TierFile* tier);

  Context& context_;
  /// Null when math is modelled, and where stores have the samples.
  std::shared_ptr<const SampleSource> own_samples_;
  std::vector<std::unique_ptr<SampleReads>> sources_;
  std::vector<StoreSource*> stores_;  ///< of those
  std::vector<PeerSource*> peers_;    ///< of those, in the order of nodes
  DiskSource* disk_ = nullptr;        ///< of those; null: it is not used
};

}  // namespace tandem
