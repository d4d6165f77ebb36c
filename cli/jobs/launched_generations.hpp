// The generations of a job that mpirun launches.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/machines/machine_use.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/membership/generations/next_generation.hpp"

namespace tandem::cli {

/// network_of_workers, for generations with other workers.
NetworkOf network_of_generations();

/// Runs the job as its document says, and kills the rank that is asked for (LaunchEvents::kill).
using LaunchOnce = std::function<GuardedResult(const std::function<std::optional<PlannedKill>()>& kill)>;

/// One launch after the other, until the job ends. Between two launches, too, a signal ends it in order.
/// `out`: its result directory. Returns how the job has ended. Pre: begin_generations(job). Errors: as the
/// launches.
GuardedResult launch_all(Job& job, const std::string& out, const LaunchOnce& launch);

/// What would have helped a job that a death has ended; empty: nothing.
std::string advice_after_death(const Job& job, const GuardedResult& result);

}  // namespace tandem::cli
