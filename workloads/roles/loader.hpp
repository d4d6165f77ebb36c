// The source of a worker's batches: its own memory, or a cache node in front of storage. While the cache
// node is away, the stores.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/data_plan.hpp"
#include "workloads/membership/cache_node_standing.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/given_samples.hpp"
#include "workloads/roles/cache/resident_lists.hpp"
#include "workloads/roles/sample_visits.hpp"

namespace tandem {

class Loader {
 public:
  virtual ~Loader() = default;
  struct Batch {
    int samples;
    /// Records, or from storage the samples as they are stored (DataPlan::manifest has their sizes); valid
    /// until the next call; empty when math is modelled.
    std::span<const std::byte> stored;
    std::span<const float> weights = {};  ///< as long as `stored`: factors on the losses; empty: all are 1
    std::span<const SampleId> ids = {};   ///< as long as `stored`; empty when math is modelled
    std::int64_t epoch = 0;               ///< of the batch
    std::span<const std::int32_t> epochs = {};  ///< as `ids`: the epoch in which each is visited
    /// As `ids`: the same, or bad_sample if `stored` does not have the sample. Empty: all are there.
    std::span<const SampleId> given = {};
  };
  /// A step begins: requests batches of `samples` samples, as many in advance as the experiment says.
  virtual void begin_step(int samples) = 0;
  /// Whether the next batch has arrived, so that `next` would not wait. This may happen before its step
  /// begins.
  virtual bool has_next() = 0;
  /// Whether `next` may be called: not before the first step, if batches are requested. `next` may wait.
  virtual bool may_have_next() const = 0;
  /// The next `samples` samples; a batch that was requested has the size of its request.
  /// Pre: its step has begun, or it was requested in advance.
  virtual Batch next(int samples) = 0;
  /// Samples of the batches that were begun or requested in advance.
  virtual std::int64_t taken() const = 0;
  /// A worker joins in its slot (WorkerSlot). Called before its first step.
  virtual void join(int incarnation) = 0;
  /// The samples in the cache node of this worker, if the worker reports them to the others; otherwise
  /// nothing. Pre: no batch is awaited.
  virtual ResidentSet residents() { return {}; }
  /// An exchange of the worker begins, or is over.
  virtual void note_exchange(bool /*begins*/) {}
  /// Ends the streams that are open.
  virtual void close() = 0;
};

/// The additional data of a loader if the cache node of its worker may depart.
struct DepartingNode {
  CacheNodeStanding* standing = nullptr;  ///< null: the node stays
  Journal* journal = nullptr;             ///< for the reads without the node
};

/// The loader of worker number `worker`, which takes the samples of `visits`. `wait`: waits for an operation,
/// and may let others progress meanwhile; returns how it ended. The other arguments must outlive the loader.
std::unique_ptr<Loader> make_loader(const Roster& roster, const DataPlan& data, Context& context,
                                    SampleVisits& visits, int worker, const GivenSamples& given,
                                    std::function<Completion(Pending&)> wait, const DepartingNode& node);

}  // namespace tandem
