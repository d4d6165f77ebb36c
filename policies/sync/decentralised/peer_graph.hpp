// The graph of workers that exchange without a server. It looks the same from every worker, so averages with
// equal weights keep the mean over all models (the mixing matrix is doubly stochastic).
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem::sync {

/// The worker and its neighbours, sorted. `graph`: a choice of graph_option().
std::vector<int> neighbourhood(const std::string& graph, int workers, int worker);
/// "ring": the two adjacent workers; "exponential": those at distances 1, 2, 4, ... on both sides;
/// "complete": all workers. `summary`: what the neighbours are for.
OptionSpec graph_option(const std::string& summary, const std::string& default_value);

}  // namespace tandem::sync
