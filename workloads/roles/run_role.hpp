// Starts the role of a rank. The same function in both worlds.
#pragma once

#include <span>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

/// Runs the rank's role to its end.
void run_role(const Job& job, Context& context, Journal& journal);

/// The same for a cache node or store that serves several jobs, its own one first. `context` counts the
/// ranks of the own job from 0, and those of the others from the numbers in ServedJob. With `operations`,
/// operations are recorded: messages in the job of the other rank, all others in the own job. Pre: the jobs
/// agree as check_sharing says.
void run_shared_role(std::span<const ServedJob> jobs, Context& context, bool operations);

}  // namespace tandem
