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

/// Launches the job of the document, and kills the rank that the argument returns (LaunchEvents::kill).
using LaunchOnce = std::function<GuardedResult(const std::function<std::optional<PlannedKill>()>& kill)>;

/// Launches the job again and again until it ends. A signal ends it in order, also between two launches.
/// `out`: its result directory. Returns how the job has ended. Pre: begin_generations(job). Errors: as the
/// launches.
GuardedResult launch_all(Job& job, const std::string& out, const LaunchOnce& launch);

/// Advice on settings with which the job would have survived the death that ended it; empty: none.
std::string advice_after_death(const Job& job, const GuardedResult& result);

}  // namespace tandem::cli
