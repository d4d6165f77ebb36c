// Costs of reads of cache nodes on a platform, for cache policies that choose the fastest place. They are
// computed once, when an experiment and its platform are known, and become part of the experiment.
#pragma once

#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// The hosts between which the network must be known to compute the rates: those of cache nodes and stores.
/// Empty: the cache policy needs no rates, or the experiment states all of them.
std::vector<std::string> hosts_of_cache_rates(const Experiment& experiment);

/// Sets the options of the cache policy that state rates (policies/cache/training/stated_rates.hpp), where
/// the experiment does not: each the least of all nodes and routes. A store is shared: each of N nodes has an
/// N-th of its bandwidth, and waits while the store serves the requests of the others. `network`: between
/// those hosts. Errors: ConfigError for hosts without a route or a disk.
void set_cache_rates(Experiment& experiment, const platforms::Description& platform,
                     const platforms::Network& network);

}  // namespace tandem
