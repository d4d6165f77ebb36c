// The parts of a commit on machines (checkpoint.to), where a job starts again from it with other workers:
// which machine gets which part from which other one, and the messages for that. Messages exist only between
// keepers (checkpoint.to buddy).
#pragma once

#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/generation.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {

/// The moves of parts between machines of `next`, after which each rank has on its own machine the part from
/// which it starts: a part of `point`, a commit of the generation `writer`. In memory, each part is then also
/// on the buddy of its machine, as if `next` had written it, and the parts of absent workers are shared among
/// those that are present. A part that no machine with a keeper of `next` has cannot be a message: this
/// function copies it at once, from a machine that has no rank in this generation. On disks this is so for
/// all parts, and the result is empty. Errors: WorldError.
std::vector<PartMove> deal_parts(const Job& writer, const ResumePoint& point, const Job& next);

/// Carries these moves out, of the present generation: what each rank does first. Errors: WorldError.
void exchange_parts(const Job& job, Context& context);

}  // namespace tandem
