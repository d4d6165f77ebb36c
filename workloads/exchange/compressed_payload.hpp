// A worker's payload in all-reduces with compression: each bucket as a CompressedSum, and the work of the
// worker's device on it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/compressed_sum.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/exchange_plan.hpp"

namespace tandem {

class CompressedPayload {
 public:
  /// `worker`: its index. `repeats`: exchanges may be done again. Without a compression it has no buckets.
  /// The arguments must outlive it.
  CompressedPayload(const ExchangePlan& plan, Context& context, Replica& replica, int worker, bool repeats);

  bool is_used() const { return !buckets_.empty(); }
  std::size_t stages(int bucket) const { return of(bucket).vectors().size(); }
  /// The vector that is summed at a stage; empty after the last one.
  CompressedSum::Vector vector(int bucket, std::size_t stage) const;
  /// As CompressedSum::exchange_among.
  void exchange_among(const std::vector<int>& order, int self);

  /// Starts to compute the vector of a stage. Pre: the all-reduce of the stage before is done.
  Pending prepare(sync::Payload payload, int bucket, std::size_t stage);
  /// The computed vector, of that size.
  Slice message(int bucket, std::size_t stage, Bytes size);
  /// Starts to compute the sum of the payloads of `members` workers from the summed vectors.
  Pending finish(sync::Payload payload, int bucket, int members);
  /// As CompressedSum::take_back.
  void take_back(int bucket);

  void serialise(StateArchive& state);
  /// The state that all workers have in common, and the size of its floats.
  void serialise_common(StateArchive& state);
  Bytes common_size() const;

 private:
  CompressedSum& of(int bucket) const { return *buckets_[static_cast<std::size_t>(bucket)]; }
  Pending compute(Work::Kind kind, sync::Payload payload, int bucket, int times,
                  std::function<void(std::span<float>)> act);

  Context& context_;
  Replica& replica_;
  std::vector<std::unique_ptr<CompressedSum>> buckets_;
};

}  // namespace tandem
