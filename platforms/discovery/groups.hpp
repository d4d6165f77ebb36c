// Which machines share cables: groups of a survey, from the lowest level upwards.
#pragma once

#include "platforms/discovery/trials.hpp"

namespace tandem::discovery {

/// Adds groups to a tree whose machines have their cables.
void find_groups(Tree& tree, Trials& trials);
/// Adds the groups that the user knows.
void add_known_groups(Tree& tree, Trials& trials, const std::vector<KnownGroup>& known);

/// Splits units into groups: average linkage as long as the mean similarity of two groups is at least
/// `least`. `similarity`: square and symmetric. Groups of one unit are groups too.
std::vector<std::vector<int>> linked(const std::vector<std::vector<double>>& similarity, double least);

}  // namespace tandem::discovery
