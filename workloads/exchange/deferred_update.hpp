// For exchanges that overlap with the next forward pass: applies the result of a finished exchange bucket by
// bucket during that pass, so that a layer waits only for its own bucket.
#pragma once

#include <functional>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/checkpoint_schedule.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class DeferredUpdate {
 public:
  struct Hooks {
    std::function<void(Phase)> end_phase;  ///< called whenever a phase of the worker's step ends
    std::function<void()> end_exchange;    ///< when the last bucket of an exchange has arrived
  };
  /// `checkpoints`: those of the job.
  DeferredUpdate(const CheckpointSchedule& checkpoints, Context& context, Replica& replica,
                 Exchange& exchange, Hooks hooks);

  /// The exchange has finished with this result. Updates of that time apply it later. Pre: the last result
  /// is applied.
  void defer(const ExchangeResult& result, UpdateTime time);

  /// A forward begins.
  void begin_forward() { spent_ = {}; }
  /// If a result is pending, waits for the bucket and applies it. Buckets come from the first layers on.
  void apply(int bucket);
  /// The time of apply() during the current forward.
  Seconds spent() const { return spent_; }

  /// A step has ended. After the last step, and before a checkpoint, every worker applies the rest of the
  /// result immediately. `round`: in the name of the worker's checkpoint.
  void end_step(std::int64_t round, bool is_last);

 private:
  struct Result {
    double sum_of;  ///< as in ExchangeResult
    UpdateTime time;
  };

  Context& context_;
  Replica& replica_;
  Exchange& exchange_;
  Hooks hooks_;
  CheckpointSchedule checkpoints_;
  std::optional<Result> pending_;
  Seconds spent_;
};

}  // namespace tandem
