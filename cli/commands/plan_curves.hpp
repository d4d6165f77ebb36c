// Accuracy curves for a plan: results of jobs that were trained, by the way to exchange which they share.
#pragma once

#include <string>
#include <vector>

#include "policies/planning/accuracy.hpp"
#include "workloads/planning/lattice.hpp"

namespace tandem::cli {

/// Of all ways, in their order. `unlike`: a result that is of none, and why; empty: there is none.
struct PlanCurves {
  std::vector<std::vector<planning::AccuracyCurve>> of_ways;
  std::string unlike;

  std::size_t count() const;
  /// "0.874 after 12,800 samples (results/asp/simulated)": the most accurate one. Pre: count() > 0.
  std::string best() const;
  /// Whether one of them has an evaluation with at least the target.
  bool reach(double target) const;
};

/// Results with evaluations in `folder` and below. A result is of a way if it has its model, data, batch,
/// algorithm, compression and optimiser; the route of an exchange changes no update. Errors: ConfigError
/// where there are none, or all are of no way.
PlanCurves read_curves(const std::string& folder, const std::vector<planning::Way>& ways);

}  // namespace tandem::cli
