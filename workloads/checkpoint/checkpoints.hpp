// Writes checkpoints during a job and at its end: one writer, each file complete, and a message to the
// evaluator after each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "workloads/context.hpp"
#include "workloads/job/plan/checkpoint_schedule.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CheckpointWriter {
 public:
  /// `job` and `context` must outlive it.
  CheckpointWriter(const Job& job, Context& context);

  /// The job writes checkpoints before its end.
  bool is_enabled() const { return plan_.every > 0; }
  /// A multiple of the experiment's interval has passed since the last checkpoint.
  bool is_due(std::int64_t round) const { return schedule_.has_passed(round); }
  /// Writes `values` (empty when math is modelled), then notifies the evaluator. `is_last`: the job ends
  /// after this round, so no rank waits for its accuracy (AccuracyStop).
  void save(std::int64_t round, std::int64_t samples, std::span<const float> values, bool is_last);
  /// A commit after this round is about to be written, and the checkpoint after it. A job that starts again
  /// from the commit then evaluates this round, even if the checkpoint was never written.
  void note_due(std::int64_t round, std::int64_t samples);
  /// Another rank writes the checkpoint of this round.
  void leave_out(std::int64_t round) { schedule_.begin_again(round); }
  /// Writes `model.pt`, and notifies the evaluator to end.
  void finish(std::int64_t round, std::span<const float> values);

 private:
  void announce(const protocol::NoteOf<"checkpoints">& note);

  const Job& job_;
  const CheckpointPlan& plan_;
  const ModelDescription& model_;
  Context& context_;
  const Generation* generation_;
  std::optional<Rank> evaluator_;
  std::optional<int> disk_;  ///< of this rank's host
  CheckpointSchedule schedule_;
};

}  // namespace tandem
