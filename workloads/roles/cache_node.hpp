// The cache node: serves batches to workers from its memory or its disk, as the cache policy decides.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
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
  struct Client {
    Rank rank = 0;
    std::vector<SampleId> ids;       ///< of the request being received
    std::vector<std::byte> records;  ///< of the batch being sent
    Pending sending;
  };
  /// What the policy decided for one requested sample.
  struct Served {
    SampleId id;
    bool local;
    cache::Admission admission;
  };
  void serve(Client& client, std::int64_t epoch);
  void decide(const std::vector<SampleId>& ids, CacheRecord& record);
  void read_missing(CacheRecord& record);
  void fill(std::vector<std::byte>& records);
  CacheRecord& record_of(std::int64_t epoch);

  const DataPlan& data_;
  Context& context_;
  Journal& journal_;
  std::unique_ptr<cache::CachePolicy> policy_;
  std::unique_ptr<RecordStore> store_;  ///< null when math is modelled
  std::unordered_map<SampleId, std::vector<std::byte>> kept_;
  std::vector<Served> served_;                   ///< of the request being served, in its order
  std::vector<std::vector<std::byte>> missing_;  ///< what storage delivered for it, in its order
  std::vector<Client> clients_;
  std::vector<Pending> inbox_;
};

}  // namespace tandem
