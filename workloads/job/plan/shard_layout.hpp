// The part of the model that each parameter server holds, as a list of messages: the pieces of the sharding
// policy, merged where they touch. Workers and servers use the same list.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/sharding/policy.hpp"
#include "workloads/model/description.hpp"

namespace tandem {

/// A part of one bucket that a shard holds: one message of a push, and one of a reply.
struct ShardPiece {
  int bucket = 0;
  std::int64_t flat_offset = 0;   ///< first element in the model's flat layout
  std::int64_t shard_offset = 0;  ///< first element in the shard's own memory
  std::int64_t elements = 0;
  std::int64_t parameters = 0;  ///< the first ones are trained; the rest are statistics
  Bytes bytes() const { return Bytes(elements * 4); }
};

/// The pieces of one shard, in the order of buckets and of the flat layout. The last piece is always of the
/// last bucket, because the note of a push or of a reply is sent with it. It is empty if the shard holds
/// nothing of that bucket. No other piece is empty.
using ShardPieces = std::vector<ShardPiece>;
/// By shard.
using ShardLayout = std::vector<ShardPieces>;

/// The pieces of a shard that workers exchange together, by their indices, both inclusive.
struct ShardKey {
  std::size_t first = 0;
  std::size_t last = 0;
};
/// The keys of one shard: a single key with all pieces. With `by_bucket`: one key for each bucket of which
/// the shard holds a part, and one for the last bucket. Pre: not empty.
std::vector<ShardKey> keys_of(const ShardPieces& pieces, bool by_bucket);

/// A model given by its sizes has one tensor per bucket. Pre: shards >= 1, the model has a bucket.
ShardLayout lay_out_shards(const ModelDescription& model, sharding::Policy policy, int shards,
                           const Options& options);

/// Elements that the shard holds. Pre: not empty.
inline std::int64_t shard_elements(const ShardPieces& pieces) {
  return pieces.back().shard_offset + pieces.back().elements;
}

/// Number of tensors of which the shard holds at least a part, counted once for each piece that touches
/// them. A model given by its sizes has one per bucket.
int tensors_in(const ShardPieces& pieces, const ModelDescription& model);

/// For run.json: "bytes" and "messages" (of a push, and of a reply) by shard, "largest_over_mean" of the
/// bytes, and a "summary" in words. `policy`: its name. Pre: not empty.
nlohmann::json describe_shards(const ShardLayout& layout, const std::string& policy);

}  // namespace tandem
