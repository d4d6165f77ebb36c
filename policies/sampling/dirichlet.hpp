// The split in which every worker has its own mixture of classes, drawn from a Dirichlet distribution. A pure
// function of the seed.
#pragma once

#include <vector>

#include "policies/sampling/partition.hpp"

namespace tandem::sampling {

std::vector<OptionSpec> dirichlet_options();
/// Each worker draws its shares of the classes from Dir(alpha p), where p is the distribution of classes in
/// the data. Then the workers take turns, one sample per turn; a worker with a larger shard has more turns.
/// The class of the sample is drawn by the worker's shares among the classes that have samples left. So all
/// workers run out of scarce classes at the same time, and no sample remains. Source: Hsu, Qi, Brown,
/// arXiv:1909.06335, where all shards have the same size (ratio 1). Errors: ConfigError without labels.
Shards dirichlet(const Setting& setting);
/// With ratio r, w workers and n samples: worker k has 1 + (n - w) r^(-k / (w - 1)) / sum samples, rounded.
std::vector<std::int64_t> dirichlet_sizes(const Setting& setting);

}  // namespace tandem::sampling
