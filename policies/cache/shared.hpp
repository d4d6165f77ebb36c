// Any policy that decides from requests alone, as a part of a cache that several nodes share. A node that
// lacks a sample asks another one before the store, and a limited number of nodes keep a sample. With one
// copy the nodes together are one cache without replicas. The holders of a sample are known without
// messages, because it has owners (owners.hpp), as in CoorDL and HVAC. Or a directory knows them
// (directory.hpp).
#pragma once

#include <memory>

#include "policies/cache/owners.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

struct Sharing {
  Owners owners;
  int node = 0;    ///< this node
  int copies = 0;  ///< nodes that may keep a sample: its first owners; 0: every node that wants it
};

/// `policy` gets only requests for samples that this node may keep. No node reads or keeps a sample because
/// another node asks: an owner keeps it after it has wanted the sample itself.
std::unique_ptr<CachePolicy> share(std::unique_ptr<CachePolicy> policy, Sharing sharing);

/// Before each on_want, on_directory has the answers of the directory for samples that the node does not
/// have: the other node that holds one, and `node`, this one, if it may keep the sample. It keeps no others.
/// Decisions::published are samples that have arrived and are kept. Decisions::withdrawn are those that it
/// might have kept and does not, or that have been evicted.
std::unique_ptr<CachePolicy> share_by_directory(std::unique_ptr<CachePolicy> policy, int node);

}  // namespace tandem::cache
