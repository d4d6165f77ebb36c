// The state files that ranks write with each checkpoint, and the choice of a checkpoint from which a job can
// be resumed. A checkpoint is complete when its model and the states that its algorithm needs exist. Every
// file is written atomically.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/survival.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/job/plan/checkpoint_schedule.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {

/// Paths of the state of a rank after `round`, and of its policy's events.
std::string state_path(const std::string& directory, std::int64_t round, const RankAssignment& assignment);
/// The same for a rank of this job, which may commit its state to its own machine and keep a copy elsewhere:
/// the path of the one that exists.
std::string state_path(const Job& job, const std::string& directory, std::int64_t round,
                       const RankAssignment& assignment);
std::string events_path(const std::string& directory, const RankAssignment& assignment);

/// Rounds whose model exists in a result directory, the latest first.
std::vector<std::int64_t> rounds_in(const std::string& directory);

/// Removes the files of checkpoints of earlier rounds in that directory.
void remove_rounds_before(const std::string& directory, std::int64_t round);

/// Path of one copy of a part of a commit.
std::string copy_path(const Job& job, const std::string& directory, const checkpointing::Copy& copy);

/// Rounds after which the rank has saved its state in that directory, the latest first.
std::vector<std::int64_t> rounds_of_state(const std::string& directory, const RankAssignment& assignment);
/// Rounds that may be complete checkpoints of the job, the latest first. In a result directory these have a
/// model. If ranks commit to disks of their own, all parts of them are there, or, after generations with
/// other workers, the model.
std::vector<std::int64_t> rounds_of_job(const Job& job, const std::string& directory);

/// Writes the model after `round`, a checkpoint of the job, into that directory. Modelled mathematics has no
/// values: the file then only says that the checkpoint is complete. Errors: WorldError.
void save_model(const Job& job, const std::string& directory, std::int64_t round, std::vector<float> values);

/// Writes the states of one rank.
class StateFiles {
 public:
  StateFiles(const Job& job, Rank rank);
  /// A multiple of the checkpoints' interval has passed since the last state.
  bool is_due(std::int64_t round) const { return keeps_ && schedule_.has_passed(round); }
  void save(std::int64_t round, const SavedState& state);

 private:
  std::string directory_;
  const RankAssignment& assignment_;
  bool keeps_;
  CheckpointSchedule schedule_;
};

/// If states are committed apart from evaluations: the checkpoint belongs to no commit.
bool is_only_evaluated(const Job& job, const std::string& directory, std::int64_t round);
/// The latest complete checkpoint in the result directory of this job, or that of `round`. Errors:
/// ConfigError when there is none; the message says what the latest one lacks.
ResumePoint find_resume_point(const Job& job, const std::string& directory,
                              std::optional<std::int64_t> round);
/// The job's progress at that point. Seconds are those of its own clock.
Progress progress_at(const Job& job, const ResumePoint& point);

/// The state from which worker number `index` continues, or the server or coordinator of that number.
/// Pre: job.resume().
SavedState state_of_worker(const Job& job, int index);
SavedState state_of_decider(const Job& job, int index);

}  // namespace tandem
