// The sharding policies of this folder, one file each; everyone else asks the catalogue.
#pragma once

#include <vector>

#include "policies/sharding/policy.hpp"

namespace tandem::sharding {

/// An equal part of every bucket for each shard.
std::vector<Holding> even(const Setting& setting);
/// Appends equal parts of the piece, one a shard; fewer when it has fewer elements.
void spread(const Piece& piece, int shards, std::vector<Holding>& holdings);

/// Tensor i to shard i modulo shards.
std::vector<Holding> round_robin(const Setting& setting);

/// Largest tensor first, each to the shard that holds least. Source: Graham, SIAM J. Appl. Math. 1969.
std::vector<Holding> balanced(const Setting& setting);

std::vector<OptionSpec> split_options();
/// Large tensors are spread over all shards, the others go round. Source: MXNet's distributed key-value
/// store.
std::vector<Holding> split(const Setting& setting);

}  // namespace tandem::sharding
