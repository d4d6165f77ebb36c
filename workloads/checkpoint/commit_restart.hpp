// The first steps of a job that starts again from a commit.
#pragma once

#include <optional>
#include <string>

#include "policies/checkpointing/policy.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Reads this rank's state, or the model if the rank has no state. It takes as long as reading what a commit
/// writes. If each machine has a disk of its own, the writer of the model reads it for all. `size`: of this
/// rank's part.
void read_commit(const Job& job, Context& context, Bytes size);

/// The commit from which the job starts again, by its parts.
struct RestartCommit {
  CommitRecord record = {};  ///< with times of this generation
  /// The state of the checkpointing policy when that commit was written, since the job began; empty: not
  /// known.
  std::string policy = {};
  Seconds policy_at{};
  checkpointing::Committed event{};  ///< that commit, as an event that the policy has not had yet
};
/// None: a part does not say when it was written.
std::optional<RestartCommit> restart_commit(const Job& job);

/// Notes when a part was written, for restart_commit. If the job starts again from the commit, no rank may
/// have known that all parts were written. `copied`: how long training waited, with commits in the
/// background.
void note_times(SavedState& state, const Job& job, Seconds started, Seconds now, Seconds copied, Bytes size);

}  // namespace tandem
