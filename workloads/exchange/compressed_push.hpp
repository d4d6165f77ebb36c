// Compressed pushes on both sides: a worker compresses its payload for the servers, and a server
// decompresses it. With modelled mathematics both sides know sizes only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/compression/codec.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// The number of a worker's push to a shard: the version of the model that it was computed on, and above 32
/// bits the number of its earlier pushes of that version. So no two pushes draw the same random numbers.
/// Worker and shard count in the same way. `last`: the number of the push before this one; -1 before the
/// first.
inline std::int64_t number_of_push(std::int64_t last, int version) {
  constexpr std::int64_t repetition = std::int64_t{1} << 32;
  return last % repetition == version ? last + repetition : version;
}

/// The side of a worker. Statistics are sent uncompressed after the trained elements of their piece.
class PushCompressor {
 public:
  /// `has_values`: mathematics is real. Pre: the plan has a compression.
  PushCompressor(const ExchangePlan& exchange, bool has_values, ComputeDevice& device, int worker);

  /// Computes the bucket's next messages to all shards. `numbers`: of the push, by shard. With error
  /// feedback, the payload becomes the part that was sent.
  Kernel compress(Replica& replica, sync::Payload payload, int bucket, std::span<const std::int64_t> numbers);
  /// The message of the shard's piece of this index. Pre: math is modelled, or its bucket's kernel ran.
  Slice message(std::size_t shard, std::size_t index);
  /// The shard has dropped the last messages, of the first `buckets` buckets. The errors of earlier pushes
  /// that they contained count as unsent again.
  void take_back(std::size_t shard, int buckets);
  /// Unsent errors and the state of codecs. Nothing when math is modelled.
  void serialise(StateArchive& state);

 private:
  struct Piece {
    ShardPiece extent;
    std::unique_ptr<compression::Codec> codec;
    std::optional<compression::ErrorFeedback> feedback;
    DeviceArray<std::byte> message;  ///< empty when math is modelled
    std::int64_t bytes = 0;          ///< of the last message
    void compress(ComputeDevice& device, std::span<float> values, std::int64_t number);
  };
  ComputeDevice& device_;
  std::vector<std::vector<Piece>> pieces_;  ///< by shard, as its layout
};

/// The side of a server shard.
class PushDecoder {
 public:
  /// `has_values`: mathematics is real. Pre: the plan has a compression.
  PushDecoder(const ExchangePlan& exchange, bool has_values, ComputeDevice& device,
              const ShardPieces& pieces);

  /// Where a worker's message of the piece of this index is received.
  Slice buffer(int worker, std::size_t index);
  /// A push of the worker, computed on this version of the model, has arrived completely.
  void note_push(int worker, int version) {
    std::int64_t& number = numbers_[static_cast<std::size_t>(worker)];
    number = number_of_push(number, version);
  }
  /// The worker's last push, as values in the shard's layout: the pieces of the key. Pre: math is real, and
  /// there is a push.
  void decode(int worker, std::span<float> values, const ShardKey& key);

 private:
  struct Piece {
    ShardPiece extent;
    std::unique_ptr<compression::Codec> codec;
    std::size_t offset = 0;  ///< of its messages in the memory of a worker
    std::int64_t message_bytes = 0;
  };
  ComputeDevice& device_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> numbers_;             ///< by worker, of its last push
  std::vector<DeviceArray<std::byte>> messages_;  ///< by worker; empty when math is modelled
};

}  // namespace tandem
