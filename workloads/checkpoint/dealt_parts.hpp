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

/// Before `next` continues from `point`, a commit of the generation `writer`: what its machines get from each
/// other, so that each rank has on its own machine the part from which it starts. In memory, each part is
/// afterwards on a machine of `next` and on the buddy of that one, as if `next` had written it; a worker has
/// the parts of those that are absent, too. What no machine with a keeper of `next` has is copied there
/// first, from a machine that is there but has no part in this generation; on disks, all is copied so, and no
/// moves are left. Errors: WorldError.
std::vector<PartMove> deal_parts(const Job& writer, const ResumePoint& point, const Job& next);

/// Carries these moves out, of the present generation: what each rank does first. Errors: WorldError.
void exchange_parts(const Job& job, Context& context);

}  // namespace tandem
