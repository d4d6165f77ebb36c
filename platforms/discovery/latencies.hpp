// The latency of each cable from the latencies of pairs.
#pragma once

#include <map>
#include <utility>

#include "platforms/discovery/tree.hpp"

namespace tandem::discovery {

/// Sets the latencies of all cables of the tree: least squares over the pairs, none negative.
void fit_latencies(Tree& tree, const std::map<std::pair<int, int>, double>& pairs);

}  // namespace tandem::discovery
