// For `study.stall`: simulates a job with several cache capacities to find the least one that suffices.
#pragma once

#include <optional>
#include <string>

#include "cli/jobs/simulation.hpp"
#include "cli/shared/job_options.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

struct FoundCapacity {
  /// None for jobs without cache nodes, and for those of which no stall in warm epochs is known.
  std::optional<validation::StudyCapacity> least{};
  std::string warning = {};  ///< why there is none, or why a capacity is not possible; empty: nothing to say
};

/// Each simulation is a process of its own, with files in the folder `out` meanwhile. Pre: this process has
/// not simulated. Errors: WorldError.
FoundCapacity least_capacity(const LoadedJob& loaded, const SimulateOptions& options, const std::string& out,
                             double stall);
/// The same for several jobs, with one capacity for all that have cache nodes: the stall is the longest of
/// these, in one simulation of all jobs together.
FoundCapacity least_capacity(const LoadedJobs& several, const SimulateOptions& options,
                             const std::string& out, double stall);

}  // namespace tandem::cli
