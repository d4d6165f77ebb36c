// For `study.stall`: simulates a job with several cache capacities to find the least one that suffices.
#pragma once

#include <optional>
#include <string>

#include "cli/jobs/simulation.hpp"
#include "cli/shared/job_options.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

struct FoundCapacity {
  /// None for jobs without cache nodes, and where the stall in warm epochs is not known.
  std::optional<validation::StudyCapacity> least{};
  std::string warning = {};  ///< why there is none, or why a capacity is not possible; empty: no warning
};

/// Runs each simulation in a process of its own, with temporary files in the folder `out`. Pre: this process
/// has not simulated. Errors: WorldError.
FoundCapacity least_capacity(const LoadedJob& loaded, const SimulateOptions& options, const std::string& out,
                             double stall);
/// The same for several jobs: all that have cache nodes have one capacity, one simulation has all jobs, and
/// the longest of their stalls counts.
FoundCapacity least_capacity(const LoadedJobs& several, const SimulateOptions& options,
                             const std::string& out, double stall);

}  // namespace tandem::cli
