// The split that gives every worker a mixture of classes of its own, drawn from a Dirichlet distribution. A
// pure function of the seed.
#pragma once

#include <vector>

#include "policies/sampling/partition.hpp"

namespace tandem::sampling {

std::vector<OptionSpec> dirichlet_options();
/// Each worker draws its shares of the classes from Dir(alpha p), where p is the data's own distribution of
/// classes. Then the workers take turns, one sample a turn: of a class by their shares among the classes that
/// are not used up, so that all meet scarce classes alike and nothing is left over. Source: Hsu, Qi, Brown,
/// arXiv:1909.06335, where all shards have the same size, too. Errors: ConfigError without labels.
Shards dirichlet(const Setting& setting);

}  // namespace tandem::sampling
