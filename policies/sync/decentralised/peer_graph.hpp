// The graph of workers that exchange without a server. It looks the same from every worker, so averages with
// equal weights keep the mean over all models (the mixing matrix is doubly stochastic).
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/policy_state.hpp"

namespace tandem::sync {

/// Among which workers there are neighbours: all, or only such of which one is active and the other passive,
/// where every second worker is active.
enum class Among { all, both_kinds };

/// The worker and its neighbours, sorted; with Among::both_kinds and an odd number of workers, the caller
/// leaves out those of its own kind. `graph`: a choice of graph_option().
std::vector<int> neighbourhood(const std::string& graph, int workers, int worker, Among among = Among::all);
/// The same graph over some of the workers, as if they were numbered without gaps. `members`: sorted, with
/// `worker`.
std::vector<int> neighbourhood(const std::string& graph, const std::vector<int>& members, int worker);
/// Where every second worker is active and the others are passive: the passive members that each of the
/// active ones may choose, sorted, in the order of `active`. The graph is connected whatever the numbers of
/// members. `active`, `passive`: sorted.
std::vector<std::vector<int>> bipartite_neighbours(const std::string& graph, const std::vector<int>& active,
                                                   const std::vector<int>& passive);
/// Shows which workers are members, which are sorted. Errors: ConfigError when `worker` is not.
void serialise_members(PolicyState& state, std::vector<int>& members, int workers, int worker);
/// "ring": the two adjacent workers; "exponential": those at distances 1, 2, 4, 8, ..., or 1, 3, 5, 9, ...
/// between both kinds, below the number of workers, on both sides (Assran et al., ICML 2019, and its code);
/// "complete": all workers. `summary`: what the neighbours are for.
OptionSpec graph_option(const std::string& summary, const std::string& default_value,
                        Among among = Among::all);

}  // namespace tandem::sync
