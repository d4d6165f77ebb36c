// Every shard holds an equal part of every bucket. Loads differ by at most one element per bucket, and the
// traffic of each bucket is spread over all shards.
#include "policies/sharding/policies.hpp"

namespace tandem::sharding {

void spread(const Piece& piece, int shards, std::vector<Holding>& holdings) {
  for (int shard = 0; shard < shards; ++shard) {
    const Piece part = collectives::part_of(piece.size(), shards, shard);
    if (part.size() == 0) return;
    holdings.push_back({{piece.begin + part.begin, piece.begin + part.end}, shard});
  }
}

namespace {

std::vector<Holding> equal_parts(const Setting& setting) {
  std::vector<Holding> holdings;
  for (const Piece& bucket : setting.buckets) spread(bucket, setting.shards, holdings);
  return holdings;
}

}  // namespace

Entry even() {
  return {.name = "even",
          .summary = "every shard holds an equal part of every bucket",
          .paper = "",
          .options = {},
          .make = equal_parts};
}

}  // namespace tandem::sharding
