// The evaluator: follows the checkpoints that the job writes and measures each on the whole test set.
#pragma once

#include <optional>

#include "workloads/checkpoint/record_files.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/evaluation.hpp"

namespace tandem {

class Evaluator {
 public:
  /// The arguments must outlive it.
  Evaluator(const Job& job, Context& context, Journal& journal);
  void run();

 private:
  void evaluate(const protocol::Checkpoint& checkpoint);
  void evaluate_missing();

  const Job& job_;
  const ModelDescription& model_;
  const CheckpointPlan& checkpoints_;
  std::optional<int> disk_;
  Context& context_;
  Evaluation evaluation_;
  RecordFiles records_;
};

}  // namespace tandem
