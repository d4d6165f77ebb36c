// How a job continues from a checkpoint that other workers wrote. What all workers have in common is kept.
// What only a departed worker knew is dropped. The samples of the epoch are dealt again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/checkpoint/saved_state.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {

/// Why no other number of workers can continue a job of this kind; none: it can.
std::optional<std::string> why_workers_must_stay(const Job& job);

/// Makes `point`, found in the directory of `former`, one from which `job` continues with another number of
/// workers. `deals`: how samples were dealt before `former` dealt them. Pre: !why_workers_must_stay(job).
ResumePoint for_other_workers(ResumePoint point, const Job& former, const Job& job,
                              std::vector<sampling::Deal> deals);

/// What `job` does not take over at its resume point, one text for each. Pre: for_other_workers made it.
std::vector<std::string> dropped_with_workers(const Job& job, const Job& former);

/// A server's or coordinator's state, with the counters of the workers of `job`. Pre: as before.
void count_for_other_workers(const Job& job, SavedState& state);
/// The state of a worker from that of one of the interrupted job. Pre: as before; workers continue.
SavedState state_from_other_workers(const Job& job, int index);

/// Changes `state`, of a worker without servers, for samples that are dealt again when the job begins. Pre:
/// job.resume()->deals_anew.
void begin_with_new_deal(const Job& job, SavedState& state);

/// The state of a worker whose slot was empty when the others wrote the checkpoint: the state that a
/// newcomer would have got from them. Pre: !job.resume()->has_state_of(index).
SavedState state_of_newcomer(const Job& job, int index);

}  // namespace tandem
