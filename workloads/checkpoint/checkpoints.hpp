// Checkpoints on the way and at the end: one writer, a complete file each, and a word to the evaluator.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/checkpoint_schedule.hpp"
#include "workloads/job/job.hpp"

namespace tandem {

/// Path of the checkpoint taken after `round`.
std::string checkpoint_path(const Job& job, std::int64_t round);

class CheckpointWriter {
 public:
  CheckpointWriter(const Job& job, Context& context);

  /// A multiple of the experiment's interval has come since the last one.
  bool is_due(std::int64_t round) const { return interval_.has_passed(round); }
  /// Starts writing a copy of `values` (empty when math is modelled) and tells the evaluator once it is
  /// there. Waits for the checkpoint before. A round is saved once.
  void save(std::int64_t round, std::int64_t samples, std::span<const float> values);
  /// Writes `model.pt`, and ends the evaluator.
  void finish(std::int64_t round, std::span<const float> values);

 private:
  void announce(const Note& note);

  const Job& job_;
  Context& context_;
  std::vector<Rank> evaluators_;
  int disk_;  ///< of this rank's host, -1: none
  CheckpointSchedule interval_;
};

}  // namespace tandem
