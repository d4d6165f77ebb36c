// The decisions of a cache node about requests: which samples are in its tiers, on another node or in a
// store, which are read in advance, and which batch is complete. Pure: events in, actions out. The node
// receives, does the actions in their order, and reports the reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/sampling/sampler.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/roles/cache/cache_actions.hpp"
#include "workloads/roles/cache/directory_view.hpp"
#include "workloads/roles/cache/node_batches.hpp"
#include "workloads/roles/cache/node_jobs.hpp"
#include "workloads/roles/cache/node_reads.hpp"
#include "workloads/roles/cache/tier_keeper.hpp"

namespace tandem {

/// Every event returns the actions of the node before the next event.
class CacheService {
 public:
  struct Setting {
    NodeBatches::Setting batches;
    NodeReads::Setting reads;
    TierKeeper::Setting tiers;
    Bytes room;                  ///< for reads in advance at the same time
    bool reads_ahead = false;    ///< the policy gets an event when reads in advance may begin
    bool is_continuous = false;  ///< reads in advance begin while batches wait, too
  };
  /// `jobs` must outlive it.
  CacheService(const Setting& setting, NodeJobs& jobs, CacheEngine engine);
  CacheService(const CacheService&) = delete;
  CacheService& operator=(const CacheService&) = delete;

  const CacheEngine& engine() const { return engine_; }
  NodeBatches& batches() { return batches_; }
  /// Pre: there is one.
  DirectoryView& directory() { return *directory_; }
  /// No batch waits for a sample, and no read in advance is in progress.
  bool is_idle() const { return !batches_.is_waiting() && !reads_.reads_in_advance(); }
  /// Another node asks for these samples, and has to wait: this node has asked the directory for one of them
  /// and may keep it, so the directory may have named this node as its holder. This node will have or read
  /// the sample when its own request is decided. No other node can delay that.
  bool must_wait(std::span<const SampleId> asked_by_peer) const;

  /// Entries that an earlier process has left on the disk. Afterwards `left` has the samples that the tier
  /// keeps.
  CacheActions begin_tier(std::vector<TierEntry>& left, std::int64_t spoiled);
  /// A worker asks for samples of that epoch. Called before the request is decided.
  void note_request(NodeJob& job, std::int64_t epoch);
  CacheActions change_jobs(const NodeJobs::Changes& changes);
  CacheActions change_peer(const cache::PeerChange& change);
  CacheActions importance(const NodeJob& job, std::int64_t epoch, std::span<const float> losses);
  struct Epoch {
    std::int64_t number = 0;
    std::span<const float> losses = {};  ///< those that workers have computed, by id
    std::span<const std::vector<SampleId>> given = {};
    std::shared_ptr<const sampling::EpochList> list = nullptr;
    std::int64_t position = 0;
    bool has_past = false;  ///< the policy does not know the epochs before
  };
  /// As NodeEpoch::begin.
  CacheActions begin_epoch(NodeJob& job, const Epoch& epoch);
  /// The request of the client is decided next: the policy gets the directory's answer to it. True: the
  /// request has waited for an answer.
  bool note_holders(std::size_t client);

  struct Request {
    std::size_t client = 0;
    NodeJob* job = nullptr;
    std::int64_t epoch = 0;
    std::int64_t position = 0;  ///< of a worker: in its part of the list
    std::span<const SampleId> ids = {};
    Seconds asked{};
    bool has_waited = false;  ///< for the directory
  };
  CacheActions want(const Request& request, Seconds now);
  /// Another node asks. The policy does not know of it: the samples that are here are sent, and nothing else
  /// changes.
  CacheActions answer_peer(const Request& request);
  /// A read has ended: the policy gets which samples are here and which are not. `settle` follows.
  CacheActions note_arrived(const SampleRead& read);
  /// Keeps the samples of a read, writes them, and delivers them to the batches that wait for them.
  CacheActions settle(const SampleRead& read, Seconds now);
  /// There is nothing else to do now: begins reads in advance. `may_read`: they do not wait for an exchange.
  CacheActions idle(bool may_read);

 private:
  bool has_or_reads(SampleId id) const;
  const cache::Decisions& decide(const Request& request);
  void apply(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch,
             CacheActions& actions);
  void collect(NodeBatch& batch, std::span<const cache::Serve> serves, CacheActions& actions);
  void note_written(const SampleRead& write, CacheActions& actions);
  std::vector<cache::Arrived> outcomes_of(const SampleRead& read);
  void send_complete(std::size_t client, CacheActions& actions);

  Setting setting_;
  NodeJobs& jobs_;
  CacheEngine engine_;
  NodeBatches batches_;
  NodeReads reads_;
  TierKeeper keeper_;
  std::optional<DirectoryView> directory_;
  bool is_idle_due_ = false;           ///< the policy was not asked for reads since the last batch
  std::vector<cache::Sample> wanted_;  ///< reused
};

}  // namespace tandem
