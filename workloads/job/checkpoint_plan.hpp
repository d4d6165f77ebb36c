// Which checkpoints a job writes, where, and who writes them. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "workloads/job/checkpoint_schedule.hpp"

namespace tandem {

struct CheckpointPlan {
  std::string directory;         ///< the result directory
  std::int64_t every = 0;        ///< rounds between checkpoints; 0: none
  std::int64_t first_round = 0;  ///< after which this run begins; above 0 where a job is resumed
  bool has_model = false;        ///< mathematics is real: there are values to write
  Rank writer = 0;               ///< the first rank of those that hold the model
  /// The rank that evaluates: one of its own, or the first worker. Empty: none does.
  std::optional<Rank> evaluator = {};
  double stop_accuracy = 0.0;  ///< at which the job ends; 0: at none
  /// The ranks that wait for each evaluation and end the job at that accuracy; empty without one.
  std::vector<Rank> accuracy_deciders = {};

  CheckpointSchedule schedule() const { return {every, first_round}; }
  /// Every rank also writes its own state, from which the job can be resumed.
  bool keeps_states() const { return has_model && every > 0; }
};

}  // namespace tandem
