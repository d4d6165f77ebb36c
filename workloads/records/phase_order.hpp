// Whether workers do the same part of their steps at the same time. Asynchronous workers that compute in
// phase also exchange in phase, and then use one direction of a server's link after the other. Out of phase
// they use both directions at the same time. Step times depend on it. Pure.
#pragma once

#include <optional>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

/// Kuramoto's order parameter R = |mean over workers of exp(2 pi i phase)|, mean over time, with phase the
/// share of its current step that a worker has done. 1: all workers in phase; 0: spread evenly. Counts the
/// time in which every worker is between its first counted step and its last. None with fewer than two
/// workers, or without such a time.
std::optional<double> phase_order(const RunInfo& info, const Journal& journal);

/// The phases of all workers whenever the first worker starts a step. Horizontal rows of points: locked
/// phases.
struct PhaseSeries {
  std::vector<Rank> workers;
  std::vector<Seconds> times;
  std::vector<std::vector<double>> phases;  ///< one row per time, one value per worker, 0 to 1
};
/// At most `most` times, from the middle of the counted time. Empty where phase_order has no value.
PhaseSeries phase_series(const RunInfo& info, const Journal& journal, std::size_t most);

}  // namespace tandem
