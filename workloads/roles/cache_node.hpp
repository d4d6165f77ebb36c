// The cache node: serves batches to workers from its memory or its disk, as the cache policy decides.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class RecordStore;

class CacheNode {
 public:
  /// The arguments must outlive it. `index`: among the cache nodes.
  CacheNode(const Job& job, Context& context, Journal& journal, int index);
  ~CacheNode();
  void run();

 private:
  struct Sending {
    std::vector<std::byte> records;
    Pending send;
  };
  struct Client {
    Rank rank = 0;
    std::vector<SampleId> ids;   ///< of the request being received
    std::list<Sending> sending;  ///< batches on their way, the oldest first
  };
  void serve(Client& client, std::int64_t epoch);
  const cache::Decisions& decide(const std::vector<SampleId>& ids, std::int64_t epoch, CacheRecord& record);
  void read_missing(CacheRecord& record);
  Sending& next_batch(Client& client);
  void fill(std::vector<std::byte>& records);
  CacheRecord& record_of(std::int64_t epoch);

  const DataPlan& data_;
  Context& context_;
  Journal& journal_;
  RecordFiles records_;
  CacheEngine engine_;
  std::unique_ptr<RecordStore> store_;  ///< null when math is modelled
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  // Of the request being served:
  std::vector<cache::Sample> wanted_;
  std::vector<cache::Serve> served_;
  std::vector<cache::Move> moves_;
  std::vector<cache::Arrived> arrived_;                           ///< the reads that it needs
  std::unordered_map<SampleId, std::vector<std::byte>> missing_;  ///< what they delivered
  std::vector<Client> clients_;
  std::vector<Pending> inbox_;
};

}  // namespace tandem
