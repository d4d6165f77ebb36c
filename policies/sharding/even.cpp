// Every shard holds an equal part of every bucket: balanced to an element a bucket, and each bucket's traffic
// goes to all shards.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

void spread(const Piece& piece, int shards, std::vector<Holding>& holdings) {
  for (int shard = 0; shard < shards; ++shard) {
    const Piece part = collectives::part_of(piece.size(), shards, shard);
    if (part.size() == 0) return;
    holdings.push_back({{piece.begin + part.begin, piece.begin + part.end}, shard});
  }
}

std::vector<Holding> even(const Setting& setting) {
  std::vector<Holding> holdings;
  for (const Piece& bucket : setting.buckets) spread(bucket, setting.shards, holdings);
  return holdings;
}

}  // namespace tandem::sharding
