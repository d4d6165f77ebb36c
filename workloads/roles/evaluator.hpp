// The evaluator: follows the checkpoints that the job writes and measures each on the whole test set.
#pragma once

#include <memory>

#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/protocol.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class Evaluator {
 public:
  Evaluator(const Job& job, Context& context, Journal& journal);
  void run();

 private:
  void evaluate(const protocol::Checkpoint& checkpoint);

  const Job& job_;
  Context& context_;
  Journal& journal_;
  std::unique_ptr<Learner> learner_;  ///< null when math is modelled
};

}  // namespace tandem
