// The evaluator: follows the checkpoints that the job writes and measures each on the whole test set.
#pragma once

#include <memory>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class Evaluator {
 public:
  /// The arguments must outlive it.
  Evaluator(const Job& job, Context& context, Journal& journal);
  void run();

 private:
  void evaluate(const protocol::Checkpoint& checkpoint);

  const ReplicaPlan& model_;
  const DataPlan& data_;
  const CheckpointPlan& checkpoints_;
  std::optional<int> disk_;
  Context& context_;
  Journal& journal_;
  std::unique_ptr<Learner> learner_;  ///< null when math is modelled
};

}  // namespace tandem
