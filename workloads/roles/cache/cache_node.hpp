// The cache node: serves batches to workers from its tiers, and reads what they lack, as the cache policy
// decides. Requests are served while reads for others are under way: a batch is sent when its last sample is
// there. Where the policy plans with epochs, one begins when all workers of the node ask for samples of it.
// While no batch waits for samples, the node reads what the policy wants to have in advance. Other cache
// nodes may ask it for samples (data.peers): it sends them what its tiers hold, and neither reads nor keeps
// anything for them. Where a directory knows who has what, a request is decided when that has answered. It
// may serve several jobs (data.shared), each of which has epochs and records of its own. Workers may come and
// go: what is open with one that is gone ends, and another one in its slot begins when nothing of that is
// left. The node may depart itself, and another one come in its slot (CacheNodeSlot). Other nodes and stores
// may depart and come back, too: samples of a node come from the store then, those of a store when it is
// back.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
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
#include "workloads/membership/joining_client.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/background_queue.hpp"
#include "workloads/roles/cache/directory_client.hpp"
#include "workloads/roles/cache/exchange_watch.hpp"
#include "workloads/roles/cache/node_job.hpp"
#include "workloads/roles/cache/peer_source.hpp"
#include "workloads/roles/cache/resident_lists.hpp"
#include "workloads/roles/cache/sample_message.hpp"
#include "workloads/roles/cache/sample_reads.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

class CacheNode {
 public:
  /// One of several that live in the slot of the node, one after the other.
  struct Life {
    int incarnation = 1;             ///< a later one than the first joins the job
    RecordFiles* records = nullptr;  ///< that this one's continue; null: it has its own, and stays
  };
  /// What it is given must outlive it. `jobs`: that it serves, its own one first; they have the same data
  /// set, cache and nodes. `index`: among the cache nodes.
  /// `life`: of a node that may depart.
  CacheNode(std::span<const ServedJob> jobs, Context& context, int index, const Life& life);
  CacheNode(std::span<const ServedJob> jobs, Context& context, int index)
      : CacheNode(jobs, context, index, Life()) {}
  ~CacheNode();
  void run();
  /// Its machine has departed.
  void record_departure();

 private:
  struct Client;
  /// In order, of one batch.
  struct Count {
    std::string from;
    SampleCount delivered = {};
  };
  struct Batch : SampleMessage {
    Client* client = nullptr;
    std::int32_t samples = 0;
    std::int64_t epoch = 0;
    Seconds asked{};
    std::vector<std::size_t> begin_of;  ///< where each sample begins in the message, and its end
    std::size_t missing = 0;            ///< samples that are being read
    protocol::Found found = {};         ///< for another cache node
    std::vector<std::size_t> bad = {};  ///< positions of samples that another cache node does not get
    bool is_lost = false;               ///< its worker is gone
    BenefitProbe::Tag probe = {};
    // Of a node that may depart, which records what it has sent:
    std::vector<SampleId> asked_for = {};
    std::vector<Count> counted = {};  ///< as in caches.csv
  };
  /// A worker, or another cache node. Workers may depart, and others join.
  struct Client : JoiningClient {
    NodeJob* job = nullptr;  ///< of a worker; of another cache node, the own one of this node
    bool is_peer = false;
    std::vector<SampleId> ids;  ///< of the request being received
    std::list<Batch> batches;   ///< not sent, or on their way; in the order of the requests
    protocol::Request request;
    bool is_held = false;  ///< the request is for an epoch that has not begun, or waits for the directory
    int lookups = 0;       ///< for the request
    Seconds asked{};       ///< when it has come, if there were lookups
    std::list<Batch> lost = {};  ///< of earlier workers of the slot
  };
  /// A batch waits for a sample.
  struct Waiter {
    Batch* batch;
    std::size_t position;
    std::string counted;  ///< the row of caches.csv that has it; empty for another cache node
  };
  using Waiters = std::unordered_multimap<SampleId, Waiter>;

  void add_sources(const Job& job, int index);
  void add_peers(const Job& job);
  void add_clients(std::span<const ServedJob> jobs);
  bool is_over() const;
  void serve();
  bool take_refused();
  void listen_to_clients();
  Pending listen(Client& client);
  void hear(Client& client, const Note& note);
  void end(Client& client);
  // Where machines of workers may depart (cache_node_members.cpp):
  void hear_steward(const Note& note);
  void on_departed(Client& client);
  void on_joined(Client& client, int incarnation);
  void advance_join(Client& client, const Completion& last);
  void on_peer_departed(std::size_t node);
  void on_peer_joined(std::size_t node, int incarnation);
  void drop_lost();
  void end_client(Client& client);
  void end_membership();
  // Of one that may depart itself (cache_node_departure.cpp):
  void join();
  bool may_depart() const { return life_.records != nullptr; }
  /// A worker may ask for samples, now or when it joins.
  bool awaits_workers() const { return open_workers_ > 0 || (steward_ && !no_more_join_); }
  std::size_t number_of(const Client& client) const;
  std::size_t index_of(const Client& client) const;
  std::span<Client> clients_of(const NodeJob& job);
  void begin_job(NodeJob& job);
  void probe_again(const NodeJob& other);
  void tell(NodeJob& job, BenefitProbe::Change change);
  void note_sent(const Batch& batch);
  void end_peer_reads();
  void answer_peer(Client& peer, std::int64_t epoch);
  static void take_out_bad(Batch& batch);
  void begin_request(Client& client);
  bool look_up(Client& client);
  void hear_directory(const Note& note);
  void tell_holders(const Client& client);
  void forget_lookups(Client& client);
  void withdraw_unused();
  bool must_wait(const Client& peer) const;
  void answer_held_peers();
  // Where the policy plans with epochs (cache_node_epochs.cpp):
  void begin_due_epoch(NodeJob& job);
  void begin_epoch(NodeJob& job, std::int64_t epoch);
  void begin_past_epochs(NodeJob& job, std::int64_t epoch,
                         const std::function<void(const cache::EpochBegins&)>& tell);
  std::vector<float> receive_losses(NodeJob& job, std::int64_t epoch);
  std::vector<std::vector<SampleId>> receive_given(const NodeJob& job, std::int64_t epoch);
  void tell_residents(Client& client);
  void begin_batch(Client& client);
  const cache::Decisions& decide(const Client& client);
  cache::Want want_of(const Client& client);
  void apply(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch);
  void read_in_background();
  void hurry(SampleId id);
  void begin(const BackgroundQueue::Read& read, bool is_awaited = false);
  void begin_part(std::size_t source, const BackgroundQueue::Read& part, bool is_awaited);
  void end_in_background(const SampleRead& read);
  void note_first_epoch(NodeJob& job, std::int64_t epoch);
  void record_background(NodeJob& job);
  void record_most(NodeJob& job);
  // Of a second tier that is kept (cache_node_kept.cpp):
  std::string find_left_tier(const Job& job) const;
  void begin_tier(const Job& job);
  void note_in_tier(SampleId id, bool is_there);
  void remove_from_disk(SampleId id);
  void record_kept(NodeJob& job);
  void count(const cache::Decisions& decisions);
  static void note_counted(NodeJob& job, std::int64_t epoch, const std::vector<Count>& counted);
  Batch& new_batch(Client& client);
  bool has_ids(const Batch& batch) const;
  void lay_out(Batch& batch, const cache::Decisions& decisions) const;
  std::span<std::byte> place(Batch& batch, std::size_t position) const;
  bool is_in_memory(SampleId id) const;
  void collect(Batch& batch, const cache::Decisions& decisions);
  void read_tier(const Batch& batch);
  void read(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch);
  void add(SampleRead& read, const Waiters& waiters, SampleId id);
  void read_instead(const SampleRead& read, std::size_t position);
  bool recount(SampleId id, Waiter& waiter, const std::string& to);
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
  NodeJob& job_of(const SampleRead& read) { return jobs_[static_cast<std::size_t>(read.job)]; }

  const Job& job_;        ///< its own one
  const DataPlan& data_;  ///< of that: what is the same in all jobs
  Context& context_;
  std::deque<NodeJob> jobs_;   ///< its own one first
  NodeJob* active_ = nullptr;  ///< that last asked for samples, or began an epoch
  Life life_;
  std::optional<RecordFiles> own_records_;
  RecordFiles& records_;
  CacheEngine engine_;
  GivenSamples given_;
  bool is_real_;        ///< math
  std::size_t stores_;  ///< that have the samples; 0: the disk has them
  std::size_t index_;   ///< among the cache nodes
  std::optional<Rank> steward_;
  bool no_more_join_ = false;
  bool reads_ahead_;  ///< the policy wants to know when it may read in the background
  std::optional<ResidentLists> resident_lists_;
  ResidentSet residents_;  ///< of all nodes, as the list of the next epoch knows them
  BackgroundQueue background_;
  bool is_idle_due_ = false;  ///< the policy was not asked for reads since the last batch
  /// Null when math is modelled, and where stores have the samples.
  std::shared_ptr<const SampleSource> own_disk_;
  std::unique_ptr<TierFile> tier_file_;  ///< null when math is modelled, and where memory is the only tier
  DiskSource* disk_ = nullptr;           ///< null: it is not used
  std::string left_tier_;                ///< see find_left_tier
  std::optional<TierIndex> tier_index_;  ///< none: the second tier is not kept
  SampleCount kept_at_start_;
  std::int64_t spoiled_ = 0;  ///< samples of the tier that was left
  Bytes most_to_write_;       ///< the node accepts requests while the disk has no more to write
  /// The stores, or the disk if it has the samples; the other cache nodes, if they are asked; then the disk
  /// of a tier that has no samples but those.
  std::vector<std::unique_ptr<SampleReads>> sources_;
  std::vector<StoreSource*> store_sources_;  ///< of those
  std::vector<PeerSource*> peers_;           ///< of those, in the order of nodes
  std::optional<DirectoryClient> directory_;
  std::optional<ExchangeWatch> watch_;  ///< where reads in the background wait for exchanges
  std::int64_t moment_ = 0;             ///< of the oldest of the last answers of the directory
  /// What is in memory. Nothing where math is modelled and memory is the only tier; else empty records.
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  std::unordered_set<SampleId> bad_;  ///< could not be read, or are not what the data set says
  bool tier_is_full_ = false;         ///< the disk had no room for a sample
  std::vector<Client> clients_;       ///< workers of each job, then other cache nodes
  std::size_t open_ = 0;              ///< clients that may send requests
  std::size_t open_workers_ = 0;      ///< of those
  bool ended_peer_reads_ = false;     ///< other nodes know that this one asks no more
  /// The next request of each client, or what one that joins waits for; the next end of a read of each
  /// source; where there is a directory, its next answer; what each worker tells of its exchanges,
  /// where reads wait for these; and where there is a steward, its next note. Empty:
  /// none is awaited.
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
