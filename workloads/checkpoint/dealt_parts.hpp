// The parts of a commit on machines (checkpoint.to), if a job starts again from it with other workers: which
// machine gets which part from which other one, and the messages for that. Only keepers exchange messages
// (checkpoint.to buddy).
#pragma once

#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/generation.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/resume_point.hpp"

namespace tandem {

/// The moves of parts between machines of `next`. After them, each rank has on its own machine the part from
/// which it starts: a part of `point`, a commit of the generation `writer`. In memory, each part is then
/// also on the buddy of its machine, as if `next` had written it, and present workers share the parts of
/// absent ones. A part may be on machines without a keeper of `next` only: then no message can move it. This
/// function copies it immediately, from a machine that has no rank in this generation. On disks this holds
/// for all parts, and the result is empty. Errors: WorldError.
std::vector<PartMove> deal_parts(const Job& writer, const ResumePoint& point, const Job& next);

/// Carries out these moves of the present generation, before each rank does anything else. Errors:
/// WorldError.
void exchange_parts(const Job& job, Context& context);

}  // namespace tandem
