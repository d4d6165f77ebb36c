// The cache node: serves batches to workers from its tiers, and reads what they lack, as the cache policy
// decides. Requests are served while reads for others are under way: a batch is sent when its last sample is
// there.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/delivery_log.hpp"
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
  };
  struct Client {
    Rank rank = 0;
    std::vector<SampleId> ids;  ///< of the request being received
    std::list<Batch> batches;   ///< not sent, or on their way; in the order of the requests
    bool has_ended = false;     ///< it sends no further request
  };
  /// A batch waits for a sample.
  struct Waiter {
    Batch* batch;
    std::size_t position;
  };
  using Waiters = std::unordered_multimap<SampleId, Waiter>;

  struct Count {
    cache::Place from;
    SampleCount delivered = {};
  };

  void listen_to_clients();
  Pending listen(Client& client);
  void end(Client& client);
  std::size_t number_of(const Client& client) const;
  void begin_batch(Client& client, std::int64_t epoch);
  const cache::Decisions& decide(const std::vector<SampleId>& ids, std::int64_t epoch);
  void note(const cache::Want& want, const cache::Decisions& decisions);
  void count(const cache::Decisions& decisions, std::int64_t epoch);
  Batch& new_batch(Client& client);
  void lay_out(Batch& batch, const cache::Decisions& decisions) const;
  std::span<std::byte> place(Batch& batch, std::size_t position) const;
  bool is_in_memory(SampleId id) const;
  void collect(Batch& batch, const cache::Decisions& decisions);
  void read_tier(std::int64_t epoch);
  void read(const cache::Decisions& decisions, std::int64_t epoch);
  void add(SampleRead& read, const Waiters& waiters, SampleId id);
  void move(const std::vector<cache::Move>& moves);
  void write(SampleId id, std::vector<std::byte> record);
  void take(const SampleRead& read);
  void keep(SampleId id, std::span<const std::byte> record);
  void deliver(Waiters& waiters, const std::string& from, SampleId id, std::span<const std::byte> record);
  void send_complete(Client& client);
  CacheRecord& record(std::int64_t epoch, const std::string& from);

  const DataPlan& data_;
  Context& context_;
  Journal& journal_;
  RecordFiles records_;
  CacheEngine engine_;
  bool is_real_;        ///< math
  std::size_t stores_;  ///< that have the samples; 0: the disk has them
  /// Null when math is modelled, and where stores have the samples.
  std::shared_ptr<const SampleSource> own_disk_;
  std::unique_ptr<TierFile> tier_file_;  ///< null when math is modelled, and where memory is the only tier
  DiskSource* disk_ = nullptr;           ///< null: it is not used
  Bytes most_to_write_;                  ///< the node accepts requests while the disk has no more to write
  std::vector<std::unique_ptr<SampleReads>> sources_;  ///< the stores, then the disk
  /// What is in memory. Nothing where math is modelled and memory is the only tier; else empty records.
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  std::vector<Client> clients_;
  std::optional<DeliveryLog> deliveries_;  ///< made when the clients are known
  std::size_t open_ = 0;                   ///< clients that may send requests
  /// The next request of each client, and the next end of a read of each source. Empty: none is awaited.
  std::vector<Pending> wait_;
  Waiters waiters_;       ///< for samples in flight
  Waiters tier_waiters_;  ///< for samples that are read from the tier on the disk
  SpareRecords spare_;
  // Reused:
  std::vector<SampleRead> reads_;  ///< by store, or of the disk
  SampleRead tier_read_, tier_write_;
  std::vector<cache::Sample> wanted_;
  std::vector<Count> counted_;
  std::vector<cache::Arrived> arrived_;
  std::vector<Client*> complete_;
};

}  // namespace tandem
