// What a finished exchange brings, taken over bucket by bucket during the next forward, where exchanges
// overlap with it: a layer then waits for its own bucket only.
#pragma once

#include <functional>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/checkpoint_schedule.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class DeferredUpdate {
 public:
  /// `end_phase`: called whenever a phase of the worker's step ends.
  DeferredUpdate(const Job& job, Context& context, Replica& replica, Exchange& exchange,
                 std::function<void(Phase)> end_phase);

  /// The link has finished this exchange, whose buckets are to be taken over by an update of that time. Pre:
  /// all of the last one are.
  void hold(const ExchangeResult& result, UpdateTime time);

  /// A forward begins.
  void begin_forward() { spent_ = {}; }
  /// Waits for the bucket and adopts it, if an exchange is open; buckets from the first layers.
  void take_over(int bucket);
  /// What that took during this forward.
  Seconds spent() const { return spent_; }

  /// A step has ended. On every worker alike, the model is whole after the last one and where a checkpoint is
  /// taken. `round`: as the worker's checkpoint would be named.
  void end_step(std::int64_t round, bool is_last);

 private:
  struct Brought {
    double sum_of;  ///< as in ExchangeResult
    UpdateTime time;
  };

  Context& context_;
  Replica& replica_;
  Exchange& exchange_;
  std::function<void(Phase)> end_phase_;
  CheckpointSchedule whole_;
  std::optional<Brought> brought_;  ///< none: no exchange is open
  Seconds spent_;
};

}  // namespace tandem
