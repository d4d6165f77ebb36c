// What the work of a round takes on each worker, and which workers are equal.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem::priced {

/// Times of one round.
struct WorkerTimes {
  std::string host;          ///< of the first worker of the class
  std::vector<int> workers;  ///< of the class
  Seconds load;              ///< of a batch, unless it is loaded during the step before
  Seconds forward;
  std::vector<Seconds> backward;  ///< by bucket
  Seconds step_update;            ///< of its own model, in each step
  Seconds change;                 ///< of its own model, computed before the exchange
  Seconds update_after;           ///< of its own model, with what the exchange gave
  /// In a round that is one step with its exchange: when the processor has launched it; 0: it is always
  /// ahead.
  Seconds launched;
  int steps = 1;  ///< of the round
  /// A round ends without it: its gradients come late and are dropped, and it begins its next step with the
  /// model that there is then.
  bool is_late = false;

  /// Of one step, without exchange.
  Seconds step() const;
  /// Until the exchange, unless that overlaps with the last backward pass.
  Seconds computing() const;
  /// By bucket: when the gradient of a step is complete, since it began.
  std::vector<Seconds> ready() const;
};

/// Workers of a class take equal times. Pre: data in memory.
std::vector<WorkerTimes> classes_of_workers(const Job& job);

}  // namespace tandem::priced
