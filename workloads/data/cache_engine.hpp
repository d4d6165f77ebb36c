// The mechanism of a cache node, written once for all policies. It knows which samples are here and in
// flight, keeps tiers within their capacity, reads no sample twice at the same time, and has the ledger. The
// policy inside decides. The caller makes the reads and owns the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/data/cache_ledger.hpp"

namespace tandem {

/// Every event returns the decisions of the policy, valid until the next event. The engine adds the reads on
/// demand that follow from them. It leaves out reads in the background of samples that are here or in
/// flight. The caller makes the reads, reports each with `arrived`, and makes the moves in their order.
class CacheEngine {
 public:
  /// Pre: manifest.samples > 0, at least one tier; the manifest's views outlive the engine.
  CacheEngine(std::unique_ptr<cache::CachePolicy> policy, std::vector<Bytes> tiers,
              const cache::Manifest& manifest, int jobs = 1);

  /// Delivers each sample of a batch. A sample from a peer or store is read, or was being read already. The
  /// batch is complete when those reads have arrived.
  const cache::Decisions& want(const cache::Want& want);
  /// Pre: the samples are in flight. A peer that does not hold a sample for which a batch waits is replaced
  /// by the first store, unless the policy reads it elsewhere. `job`: for which they were read; `why`: as the
  /// read was decided.
  const cache::Decisions& arrived(int job, std::span<const cache::Arrived> arrived);
  const cache::Decisions& begin_epoch(const cache::EpochBegins& epoch);
  const cache::Decisions& importance(int job, std::span<const float> losses);
  const cache::Decisions& change_job(const cache::JobChange& change);
  const cache::Decisions& change_peer(const cache::PeerChange& change);
  const cache::Decisions& directory(std::span<const cache::Holder> holders);
  /// `room`: bytes that may be read in the background now.
  const cache::Decisions& idle(Bytes room);

  /// Whether the sample is in a tier now, so that a peer or a batch can have it.
  bool has(SampleId id) const {
    return state(id).tier != cache::outside && (!state(id).in_flight || state(id).is_kept);
  }
  /// Whether a batch that was served the sample must wait for its read.
  bool must_wait(const cache::Serve& serve) const {
    const bool is_here = serve.from.where == cache::Where::tier && state(serve.given).is_kept;
    return state(serve.given).in_flight && !is_here;
  }
  /// The tier had the sample before the read in progress, or before the last read: for a job that bypasses
  /// the tier.
  bool is_kept(SampleId id) const { return state(id).is_kept; }
  /// The tier that holds the sample, or will when it arrives; cache::outside: none.
  int tier_of(SampleId id) const { return state(id).tier; }
  bool in_flight(SampleId id) const { return state(id).in_flight; }
  Bytes used(int tier) const { return used_[static_cast<std::size_t>(tier)]; }
  const cache::CachePolicy& policy() const { return *policy_; }
  /// The job of the last batch, epoch or losses: changes, news and idle times after it count for this job.
  int active_job() const { return active_job_; }

  /// The ledger of a job and epoch; all zero if nothing happened in it.
  const CacheLedger& ledger(int job, std::int64_t epoch) const;
  /// The sum of all jobs and epochs.
  CacheLedger total() const;

 private:
  struct SampleState {
    std::int8_t tier = cache::outside;
    bool in_flight = false;
    bool is_kept = false;     ///< see is_kept()
    bool unused = false;      ///< read in the background and not delivered yet
    bool is_awaited = false;  ///< in flight, and a batch was served it, wherever the read was decided
  };
  struct JobState {
    std::vector<CacheLedger> epochs;
    std::vector<std::uint32_t> delivered_in;  ///< by id: the last epoch + 1; empty before the first batch
    std::int64_t epoch = 0;
  };

  const SampleState& state(SampleId id) const { return states_[static_cast<std::size_t>(id)]; }
  SampleState& state(SampleId id) { return states_[static_cast<std::size_t>(id)]; }
  CacheLedger& open_ledger(int job, std::int64_t epoch);
  CacheLedger& open_ledger(int job);
  void check_serves(const cache::Want& want) const;
  void count_delivered(const cache::Want& want, CacheLedger& ledger);
  static void count_peer_miss(const cache::Arrived& read, CacheLedger& ledger);
  void add_demand(CacheLedger& ledger);
  void count_background(int job);
  void move(int job);
  const cache::Decisions& finish(int job);

  std::unique_ptr<cache::CachePolicy> policy_;
  std::vector<Bytes> tiers_;
  std::vector<Bytes> used_;
  cache::Manifest manifest_;
  std::vector<SampleState> states_;  ///< by id
  std::vector<JobState> jobs_;
  int active_job_ = 0;
  cache::Decisions decisions_;
  std::vector<cache::Place> demand_places_;
  std::vector<SampleId> again_;  ///< scratch: what a peer does not hold
};

}  // namespace tandem
