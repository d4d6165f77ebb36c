// How the model is divided among the shards of a parameter server: pure functions of the tensor sizes. The
// messages of each shard follow from it in workloads/job/plan/shard_layout.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "policies/vocabulary/catalog.hpp"

namespace tandem::sharding {

using collectives::Piece;

/// The input of a division. Pieces are ranges of the model's flat layout; none is empty, and none is in two
/// buckets.
struct Setting {
  std::vector<Piece> buckets;  ///< the part of each bucket that is exchanged
  std::vector<Piece> tensors;  ///< the same elements by tensor, in forward order
  int shards;
  Options options = {};
};

/// A piece, and the shard that holds it.
struct Holding {
  Piece piece;
  int shard;
  bool operator==(const Holding&) const = default;
};

/// Gives each element of the buckets to one shard, in pieces that are not empty and belong to one bucket
/// each, in any order. Deterministic. Pre: shards >= 1.
using Policy = std::vector<Holding> (*)(const Setting& setting);
const Catalog<Policy>& catalog();

/// Elements that each shard holds.
std::vector<std::int64_t> loads(const std::vector<Holding>& holdings, int shards);

}  // namespace tandem::sharding
