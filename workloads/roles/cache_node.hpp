// The cache node: serves batches to workers from its tiers, and reads what they lack, as the cache policy
// decides. Requests are served while reads for others are under way: a batch is sent when its last sample is
// there. Where the policy plans with epochs, one begins when all workers of the node ask for samples of it.
// While no batch waits for samples, the node reads what the policy wants to have in advance. Other cache
// nodes may ask it for samples (data.peers): it sends them what its tiers hold, and neither reads nor keeps
// anything for them.
#pragma once

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/job/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/background_queue.hpp"
#include "workloads/roles/delivery_log.hpp"
#include "workloads/roles/node_epoch.hpp"
#include "workloads/roles/peer_source.hpp"
#include "workloads/roles/resident_lists.hpp"
#include "workloads/roles/sample_message.hpp"
#include "workloads/roles/sample_reads.hpp"

namespace tandem {

class CacheNode {
 public:
  /// The arguments must outlive it. `index`: among the cache nodes.
  CacheNode(const Job& job, Context& context, Journal& journal, int index);
  ~CacheNode();
  void run();

 private:
  struct Client;
  struct Batch : SampleMessage {
    Client* client = nullptr;
    std::int32_t samples = 0;
    std::int64_t epoch = 0;
    Seconds asked{};
    std::vector<std::size_t> begin_of;  ///< where each sample begins in the message, and its end
    std::size_t missing = 0;            ///< samples that are being read
    protocol::Found found = {};         ///< for another cache node
  };
  /// A worker, or another cache node.
  struct Client {
    Rank rank = 0;
    bool is_peer = false;
    std::vector<SampleId> ids;  ///< of the request being received
    std::list<Batch> batches;   ///< not sent, or on their way; in the order of the requests
    protocol::Request request;
    bool is_held = false;    ///< the request is for an epoch that has not begun
    bool has_ended = false;  ///< it sends no further request
  };
  /// A batch waits for a sample.
  struct Waiter {
    Batch* batch;
    std::size_t position;
    std::string counted;  ///< the row of caches.csv that has it; empty for another cache node
  };
  using Waiters = std::unordered_multimap<SampleId, Waiter>;
  static constexpr std::int64_t no_epoch = std::numeric_limits<std::int64_t>::max();

  /// In order, of one batch.
  struct Count {
    std::string from;
    SampleCount delivered = {};
  };

  void add_sources(const Job& job, int index);
  void add_peers(const Job& job);
  void add_clients(const Job& job, int index);
  void listen_to_clients();
  Pending listen(Client& client);
  void hear(Client& client, const Note& note);
  void end(Client& client);
  std::size_t number_of(const Client& client) const;
  void end_peer_reads();
  void answer_peer(Client& peer, std::int64_t epoch);
  void begin_due_epoch();
  void begin_epoch(std::int64_t epoch);
  std::vector<float> receive_losses(std::int64_t epoch);
  void tell_residents(Client& client);
  void begin_batch(Client& client);
  const cache::Decisions& decide(const Client& client);
  cache::Want want_of(const Client& client);
  void apply(const cache::Decisions& decisions, std::int64_t epoch);
  void read_in_background();
  void begin(const BackgroundQueue::Read& read);
  void begin_part(std::size_t source, const BackgroundQueue::Read& part);
  void end_in_background(const SampleRead& read);
  void note_first_epoch(std::int64_t epoch);
  bool has_first_epoch() const { return first_epoch_ < no_epoch; }
  /// What was decided before the first request, as of epoch 0, belongs to the first epoch that was requested.
  std::int64_t row_epoch(std::int64_t decided) const {
    return has_first_epoch() ? std::max(decided, first_epoch_) : decided;
  }
  void record_background();
  void count(const cache::Decisions& decisions, std::int64_t epoch);
  Batch& new_batch(Client& client);
  bool has_ids(const Batch& batch) const;
  void lay_out(Batch& batch, const cache::Decisions& decisions) const;
  std::span<std::byte> place(Batch& batch, std::size_t position) const;
  bool is_in_memory(SampleId id) const;
  void collect(Batch& batch, const cache::Decisions& decisions);
  void read_tier(std::int64_t epoch);
  void read(const cache::Decisions& decisions, std::int64_t epoch);
  void add(SampleRead& read, const Waiters& waiters, SampleId id);
  void read_instead(const SampleRead& read, std::size_t position);
  bool recount(SampleId id, Waiter& waiter);
  void give(Batch& batch, std::size_t position, SampleId given) const;
  void move(const std::vector<cache::Move>& moves);
  void write(SampleId id, std::vector<std::byte> record);
  void take(const SampleRead& read);
  void settle(const SampleRead& read, std::size_t position);
  void note_writes(const SampleRead& read);
  void note_arrived(const SampleRead& read, std::size_t needed);
  bool is_coming(SampleId id) const;
  void count_peer_miss(SampleId id, Waiter& waiter);
  std::size_t source_of(const cache::Place& place, SampleId id) const;
  void keep(SampleId id, std::span<const std::byte> record);
  void deliver(Waiters& waiters, const std::string& from, SampleId id, const SampleRead& read,
               std::size_t position);
  void send_complete(Client& client);
  CacheRecord& record(std::int64_t epoch, const std::string& from);

  const DataPlan& data_;
  Context& context_;
  Journal& journal_;
  RecordFiles records_;
  CacheEngine engine_;
  GivenSamples given_;
  bool is_real_;        ///< math
  std::size_t stores_;  ///< that have the samples; 0: the disk has them
  std::size_t index_;   ///< among the cache nodes
  bool reads_ahead_;    ///< the policy wants to know when it may read in the background
  std::optional<NodeEpoch> epoch_;
  std::optional<ResidentLists> resident_lists_;
  ResidentSet residents_;  ///< of all nodes, as the list of the next epoch knows them
  BackgroundQueue background_;
  bool is_idle_due_ = false;                      ///< the policy was not asked for reads since the last batch
  std::map<std::int64_t, CacheLedger> recorded_;  ///< by epoch: reads in the background
  /// Null when math is modelled, and where stores have the samples.
  std::shared_ptr<const SampleSource> own_disk_;
  std::unique_ptr<TierFile> tier_file_;  ///< null when math is modelled, and where memory is the only tier
  DiskSource* disk_ = nullptr;           ///< null: it is not used
  Bytes most_to_write_;                  ///< the node accepts requests while the disk has no more to write
  /// The stores, or the disk if it has the samples; the other cache nodes, if they are asked; then the disk
  /// of a tier that has no samples but those.
  std::vector<std::unique_ptr<SampleReads>> sources_;
  std::vector<PeerSource*> peers_;  ///< of those
  /// What is in memory. Nothing where math is modelled and memory is the only tier; else empty records.
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  std::unordered_set<SampleId> bad_;       ///< could not be read, or are not what the data set says
  bool tier_is_full_ = false;              ///< the disk had no room for a sample
  std::int64_t last_epoch_ = 0;            ///< the newest one that was requested
  std::int64_t first_epoch_ = no_epoch;    ///< the oldest one that was requested
  Seconds read_at_start_{};                ///< how long reads took that ended before the first request
  std::vector<Client> clients_;            ///< workers, then other cache nodes
  std::size_t open_ = 0;                   ///< clients that may send requests
  std::size_t open_workers_ = 0;           ///< of those
  bool ended_peer_reads_ = false;          ///< other nodes know that this one asks no more
  std::optional<DeliveryLog> deliveries_;  ///< made when the workers are known
  /// The next request of each client, and the next end of a read of each source. Empty: none is awaited.
  std::vector<Pending> wait_;
  Waiters waiters_;       ///< for samples in flight
  Waiters tier_waiters_;  ///< for samples that are read from the tier on the disk
  /// In flight from the store because the node that was asked did not have them.
  std::unordered_set<SampleId> not_at_peer_;
  std::unordered_set<SampleId> from_peers_;  ///< in flight from other nodes, or to be read there
  SpareRecords spare_;
  // Reused:
  std::vector<SampleRead> reads_;  ///< by source, without the disk of a tier
  SampleRead tier_read_, tier_write_;
  std::vector<cache::Sample> wanted_;
  std::vector<Count> counted_;
  std::vector<cache::Arrived> arrived_;
  cache::Decisions for_peer_;
  std::vector<Client*> complete_;
};

}  // namespace tandem
