// How the model is spread over parameter-server shards: every shard holds an equal part of what travels of
// every bucket, so that shards are balanced to an element and one bucket's traffic goes to all of them.
#pragma once

#include <vector>

#include "policies/collectives/schedule.hpp"
#include "workloads/model_description.hpp"

namespace tandem {

/// A shard's part of one bucket.
struct ShardPiece {
  std::int64_t flat_offset = 0;   ///< first element in the model's flat layout
  std::int64_t shard_offset = 0;  ///< first element in the shard's own memory
  std::int64_t elements = 0;
  std::int64_t parameters = 0;  ///< the first so many are trained, the rest are statistics
  Bytes bytes() const { return Bytes(elements * 4); }
};

/// One piece a bucket, of shard `shard` of `shards`.
inline std::vector<ShardPiece> shard_pieces(const ModelDescription& model, int shards, int shard) {
  std::vector<ShardPiece> pieces;
  std::int64_t shard_offset = 0;
  for (const auto& bucket : model.buckets) {
    const collectives::Piece part = collectives::part_of(bucket.exchanged(), shards, shard);
    const std::int64_t trained_end = std::min(part.end, bucket.parameters);
    pieces.push_back({.flat_offset = bucket.offset + part.begin,
                      .shard_offset = shard_offset,
                      .elements = part.size(),
                      .parameters = std::max<std::int64_t>(0, trained_end - part.begin)});
    shard_offset += part.size();
  }
  return pieces;
}

inline std::int64_t shard_elements(const std::vector<ShardPiece>& pieces) {
  return pieces.empty() ? 0 : pieces.back().shard_offset + pieces.back().elements;
}

}  // namespace tandem
