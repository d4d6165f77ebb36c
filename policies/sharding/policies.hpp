// The sharding policies, one file each. Other code finds them in the catalogue.
#pragma once

#include <vector>

#include "policies/sharding/policy.hpp"

namespace tandem::sharding {

using Entry = Catalog<Policy>::Entry;

Entry even();
Entry round_robin();
Entry balanced();
Entry split();

/// Appends equal parts of the piece, one per shard; fewer when it has fewer elements.
void spread(const Piece& piece, int shards, std::vector<Holding>& holdings);

}  // namespace tandem::sharding
