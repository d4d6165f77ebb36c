// Batches that a worker reads from the stores itself, while its cache node is away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/delivery_log.hpp"
#include "workloads/roles/cache/given_samples.hpp"
#include "workloads/roles/cache/sample_reads.hpp"

namespace tandem {

class DirectReads {
 public:
  /// One batch. It must not move in memory until it has arrived.
  struct Batch {
    std::span<const SampleId> ids;
    std::int64_t epoch = 0;
    /// Memory for the samples, laid out as a message of a cache node, with GivenSamples. Empty when math is
    /// modelled.
    std::span<std::byte> records = {};
    std::size_t missing = 0;  ///< reads that have not ended
  };

  /// `wait`: waits for an operation, and returns how it ended. The other arguments must outlive it.
  DirectReads(const Roster& roster, const DataPlan& data, Context& context, const GivenSamples& given,
              std::function<Completion(Pending&)> wait, Journal& journal);

  DirectReads(const DirectReads&) = delete;
  DirectReads& operator=(const DirectReads&) = delete;
  /// Also records the deliveries to a worker that departs.
  ~DirectReads() { deliveries_.end(0); }

  /// A worker joins in its slot, and has asked for nothing yet.
  void join(int incarnation);
  /// Asks the stores for the batch.
  void ask(Batch& batch);
  /// Whether it has arrived. Never blocks.
  bool has(const Batch& batch);
  void await(const Batch& batch);
  /// The worker has got the batch, and has waited for `blocked`.
  void note(const Batch& batch, Seconds blocked);
  /// No batch follows. Pre: all have arrived.
  void close();

 private:
  struct Part {
    Batch* batch;
    std::vector<std::size_t> positions;  ///< of its samples in the batch
  };
  struct Store {
    Rank rank;
    StoreSource source;
    Pending next = {};
    std::deque<Part> parts = {};  ///< that were asked for, the oldest first
  };
  void take(Store& store);
  CacheRecord& row_of(const Batch& batch);

  Context& context_;
  const cache::Manifest& manifest_;
  GivenSamples given_;
  std::function<Completion(Pending&)> wait_;
  Journal& journal_;
  std::deque<Store> stores_;
  DeliveryLog deliveries_;
};

}  // namespace tandem
