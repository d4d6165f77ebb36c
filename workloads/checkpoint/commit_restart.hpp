// What a job that starts again from a commit does with it first.
#pragma once

#include <optional>

#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/context.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// Reads this rank's state, or the model where it has none of its own, which takes as long as reading what a
/// commit writes. Where each machine has a disk of its own, the writer of the model reads it for all.
/// `size`: of this rank's part.
void read_commit(const Job& job, Context& context, Bytes size);

/// The record of the commit from which the job starts again, as its parts say; none: an older Tandem wrote it.
/// Times are those of this generation.
std::optional<CommitRecord> record_of_restart(const Job& job);

/// When a part was written, for record_of_restart: if the job starts again from it, no rank may have learnt that
/// all parts were written. `copied`: how long training waited, with commits in the background.
void note_times(SavedState& state, const Job& job, Seconds started, Seconds now, Seconds copied, Bytes size);

}  // namespace tandem
