// Ends a job at an accuracy (stop.accuracy): a rank that decides waits for the evaluation of each
// checkpoint. So the decision depends on the model alone, and is the same in simulation and measurement.
#pragma once

#include <cstdint>
#include <optional>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

class AccuracyStop {
 public:
  /// `job` and `context` must outlive it.
  AccuracyStop(const Job& job, Context& context);

  /// True: this rank decides, and the evaluation of the checkpoint after this round has found the accuracy.
  /// Waits for that evaluation. Pre: the job does not end after this round anyway.
  bool is_reached_after(std::int64_t round);
  /// The same for the checkpoint from which the job starts again, if that was to be evaluated. To be called
  /// once, when the job begins.
  bool is_reached_at_restart();
  /// Whether is_reached_after() would wait for another rank.
  bool waits_after(std::int64_t round) const {
    return evaluator_ && *evaluator_ != context_.rank() && schedule_.has_passed(round);
  }
  /// This rank evaluates and decides: sets what is_reached_after() returns for the round.
  void note_verdict(bool reached) { own_verdict_ = reached; }

 private:
  /// Pre: this rank decides.
  bool verdict();

  Context& context_;
  std::optional<Rank> evaluator_;  ///< none: this rank does not decide
  CheckpointSchedule schedule_;
  bool owes_verdict_ = false;  ///< on the checkpoint from which the job starts again
  bool own_verdict_ = false;
};

}  // namespace tandem
