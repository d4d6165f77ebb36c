// Measures models on the whole test set. The evaluator, or the first worker, does this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class Evaluation {
 public:
  /// The arguments must outlive it.
  Evaluation(const Job& job, Context& context, Journal& journal);

  /// A model after a round.
  struct Subject {
    std::int64_t round = 0;
    std::int64_t samples = 0;  ///< processed by all workers
    Seconds taken{};           ///< when the model was copied, or when its evaluation begins
  };
  /// Evaluates for the time that the device needs, and records the result. `values`: returns the flat model
  /// in the host's memory; not called when math is modelled. Returns the accuracy; NaN when math is
  /// modelled.
  double evaluate(const Subject& subject, const std::function<std::vector<float>()>& values);
  /// Sends the other ranks that may end the job by accuracy whether this one reaches the target. Returns
  /// that.
  bool announce(double accuracy);

 private:
  const DataPlan& data_;
  const CheckpointPlan& checkpoints_;
  Context& context_;
  Journal& journal_;
  std::unique_ptr<Learner> learner_;  ///< null when math is modelled
};

}  // namespace tandem
