// Who is whose neighbour where workers exchange without a server. All graphs look the same from every worker,
// so that equal shares of a worker and its neighbours make a doubly stochastic mixing.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem::sync {

/// The worker and its neighbours, sorted. `graph`: a choice of graph_option().
std::vector<int> neighbourhood(const std::string& graph, int workers, int worker);
/// "ring": the two beside; "exponential": those 1, 2, 4, ... places away, on both sides; "complete": all.
OptionSpec graph_option(const std::string& summary, const std::string& default_value);

}  // namespace tandem::sync
