// The cache node: serves batches to workers from its tiers, and reads samples that are not there, as the
// cache policy decides. It receives, sends, waits and records. Its service decides which samples a batch
// has, and from where each is read (CacheService).
//
// Requests are served while reads for others are in progress: a batch is sent when its last sample is there.
// Where the policy plans with epochs, an epoch begins when all workers of the node have requested samples of
// it. Other cache nodes may request samples from it (data.peers). Where a directory knows the samples of
// nodes, a request is decided after the directory has answered. The node may serve several jobs
// (data.shared), each with epochs and records of its own.
//
// Workers may come and go. The node ends the open operations with a worker that is gone. Another worker in
// its slot begins after that. The node may depart itself, and another one come in its slot (CacheNodeSlot).
// Other nodes and stores may depart and come back, too: samples of a node then come from the store, those of
// a store when it is back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/batch_messages.hpp"
#include "workloads/roles/cache/cache_service.hpp"
#include "workloads/roles/cache/directory_line.hpp"
#include "workloads/roles/cache/epoch_messages.hpp"
#include "workloads/roles/cache/exchange_watch.hpp"
#include "workloads/roles/cache/node_clients.hpp"
#include "workloads/roles/cache/node_jobs.hpp"
#include "workloads/roles/cache/node_sources.hpp"
#include "workloads/roles/cache/served_job.hpp"
#include "workloads/roles/cache/tier_files.hpp"

namespace tandem {

class CacheNode {
 public:
  /// One occupant of the slot; there may be several, one after the other.
  struct Life {
    int incarnation = 1;             ///< from 2 on, the node joins the running job
    RecordFiles* records = nullptr;  ///< to which the node adds its records; null: it has its own, and stays
  };
  /// The arguments must outlive it. `jobs`: the jobs that it serves, its own one first; they have the same
  /// data set, cache and nodes. `index`: among the cache nodes. `life`: of a node that may depart.
  CacheNode(std::span<const ServedJob> jobs, Context& context, int index, const Life& life);
  CacheNode(std::span<const ServedJob> jobs, Context& context, int index)
      : CacheNode(jobs, context, index, Life()) {}
  void run();
  /// Its machine has departed.
  void record_departure();

 private:
  struct Performing;

  void add_clients(std::span<const ServedJob> jobs);
  void begin_tier();
  bool is_over() const;
  void serve();
  void perform(CacheActions actions);
  void send(NodeBatch batch);
  void take(const SampleRead& read);
  void end_peer_reads();
  // Clients:
  void listen_to_clients();
  Pending listen(NodeClient& client);
  void on_message(NodeClient& client, const Note& note);
  void end(NodeClient& client);
  void begin_job(NodeJob& job);
  void begin_due_epoch(NodeJob& job);
  void begin_epoch(NodeJob& job, std::int64_t epoch);
  void begin_batch(NodeClient& client);
  void answer_peer(NodeClient& peer);
  // The directory:
  void begin_request(NodeClient& client);
  void look_up(NodeClient& client);
  void on_answer(const Note& note);
  void forget_lookups(NodeClient& client);
  void send_updates();
  void answer_held_peers();
  // Ranks that depart and join (cache_node_members.cpp):
  bool may_depart() const { return life_.records != nullptr; }
  /// A worker may ask for samples, now or when it joins.
  bool awaits_workers() const { return clients_.have_open_workers() || (steward_ && !no_more_join_); }
  void join();
  void on_membership(const Note& note);
  void on_departed(NodeClient& client);
  void on_joined(NodeClient& client, int incarnation);
  void advance_join(NodeClient& client, const Completion& last);
  void change_peer(std::size_t node, int incarnation);
  void end_membership();

  const Job& job_;        ///< its own job
  const DataPlan& data_;  ///< of its own job: the part that is the same in all jobs
  Context& context_;
  Life life_;
  std::optional<RecordFiles> own_records_;
  RecordFiles& records_;
  ReadPlaces places_;
  std::optional<Rank> steward_;
  bool no_more_join_ = false;
  NodeJobs jobs_;
  NodeClients clients_;
  TierFiles tier_;
  NodeSources sources_;
  CacheService service_;
  BatchMessages messages_;
  EpochMessages epochs_;
  std::optional<DirectoryLine> directory_;
  std::optional<ExchangeWatch> watch_;  ///< if reads in advance wait for exchanges
  Bytes most_to_write_;                 ///< the node accepts requests while no more bytes wait for the disk
  bool ended_peer_reads_ = false;       ///< other nodes know that this one asks no more
  /// What the node waits for, in this order: the next request of each client, or what a joining client waits
  /// for; the next end of a read of each source; the next answer of the directory, if there is one; notes of
  /// each worker about its exchanges, if reads wait for these; the steward's next note, if there is one.
  /// Empty: not awaited.
  std::vector<Pending> wait_;
};

}  // namespace tandem
