// Any policy that decides from requests alone, as a part of a cache that several nodes share: each sample has
// owners (owners.hpp), a node that lacks it asks one of them before the store, and only so many owners keep
// it. With one copy the nodes together are one partitioned cache without replicas, as in CoorDL and HVAC.
#pragma once

#include <memory>

#include "policies/cache/owners.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

struct Sharing {
  Owners owners;
  int node = 0;    ///< this one
  int copies = 0;  ///< nodes that may keep a sample: its first owners; 0: every node keeps what it wants
};

/// `policy` sees only requests for what this node may keep. Nobody reads or keeps a sample because another
/// node asks: it is kept by an owner from when that wants it itself.
std::unique_ptr<CachePolicy> share(std::unique_ptr<CachePolicy> policy, Sharing sharing);

}  // namespace tandem::cache
