// The files beside a checkpoint in which each rank keeps what it alone knows, and which of them a job can go
// on from. A checkpoint is whole when the model and the states that its algorithm needs are there; each file
// appears under its name only when it is whole itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/job/checkpoint_schedule.hpp"
#include "workloads/job/job.hpp"
#include "workloads/job/resume_point.hpp"

namespace tandem {

/// Paths of what the rank on this seat remembers after `round`, and of its policy's events.
std::string state_path(const std::string& directory, std::int64_t round, const RankAssignment& seat);
std::string events_path(const std::string& directory, const RankAssignment& seat);

/// Whether ranks keep states: with real mathematics and checkpoints.
bool keeps_states(const Job& job);

/// Writes the states of one rank.
class StateFiles {
 public:
  StateFiles(const Job& job, Rank rank);
  /// A multiple of the checkpoints' interval has come since the last state.
  bool is_due(std::int64_t round) const { return keeps_ && interval_.has_passed(round); }
  void save(std::int64_t round, const SavedState& state);

 private:
  const Job& job_;
  RankAssignment seat_;
  bool keeps_;
  CheckpointSchedule interval_;
};

/// The newest whole checkpoint in the result directory of this very job, or that of `round`.
/// Errors: ConfigError when there is none, telling what the newest lacks.
ResumePoint find_resume_point(const Job& job, const std::string& directory,
                              std::optional<std::int64_t> round);
/// How far the job was there. Seconds are those of its own clock.
Progress progress_at(const Job& job, const ResumePoint& point);

/// What worker number `index` goes on from, or a server. Pre: job.resume().
SavedState state_of_worker(const Job& job, int index);
SavedState state_of_server(const Job& job, int index);

}  // namespace tandem
