// The graph of workers that exchange without a server. It looks the same from every worker, so averages with
// equal weights keep the mean over all models (the mixing matrix is doubly stochastic).
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem::sync {

/// Among which workers there are neighbours: all, or only such of which one is active and the other passive,
/// where every second worker is active.
enum class Among { all, both_kinds };

/// The worker and its neighbours, sorted; with Among::both_kinds and an odd number of workers, the caller
/// leaves out those of its own kind. `graph`: a choice of graph_option().
std::vector<int> neighbourhood(const std::string& graph, int workers, int worker, Among among = Among::all);
/// "ring": the two adjacent workers; "exponential": those at distances 1, 2, 4, 8, ..., or 1, 3, 5, 9, ...
/// between both kinds, below the number of workers, on both sides (Assran et al., ICML 2019, and its code);
/// "complete": all workers. `summary`: what the neighbours are for.
OptionSpec graph_option(const std::string& summary, const std::string& default_value,
                        Among among = Among::all);

}  // namespace tandem::sync
