// What a job that starts again from a commit does with it first.
#pragma once

#include <optional>
#include <string>

#include "policies/checkpointing/policy.hpp"
#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Reads this rank's state, or the model where it has none of its own, which takes as long as reading what a
/// commit writes. Where each machine has a disk of its own, the writer of the model reads it for all.
/// `size`: of this rank's part.
void read_commit(const Job& job, Context& context, Bytes size);

/// The commit from which the job starts again, as its parts say.
struct RestartCommit {
  CommitRecord record = {};  ///< with times of this generation
  /// The state of the checkpointing policy as that commit was written, since the job began; empty: not known.
  std::string policy = {};
  Seconds policy_at{};
  checkpointing::Committed event{};  ///< that commit, of which the policy had not learnt yet
};
/// None: a part does not say when it was written.
std::optional<RestartCommit> restart_commit(const Job& job);

/// When a part was written, for restart_commit: if the job starts again from it, no rank may have learnt that
/// all parts were written. `copied`: how long training waited, with commits in the background.
void note_times(SavedState& state, const Job& job, Seconds started, Seconds now, Seconds copied, Bytes size);

}  // namespace tandem
