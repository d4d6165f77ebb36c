// Compressed replies on both sides: a server shard compresses what it sends to its workers, and a worker
// decompresses it. Where servers hold the model, a message is the difference between that model and the one
// that the worker has; so what a message lacks is part of the next one. Means, and models in messages that
// lose nothing, are sent as they are. With modelled mathematics both sides know sizes only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/compression/codec.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/snapshots.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// One piece of a reply in compressed form. Statistics follow its trained elements uncompressed.
struct ReplyPiece {
  ShardPiece extent;
  std::unique_ptr<compression::Codec> codec;
  std::int64_t longest = 0;   ///< bytes of a message
  std::int64_t expected = 0;  ///< the same with modelled mathematics
};

/// The messages of a reply. Several workers may get the same.
class ReplyMessages {
 public:
  /// `has_values`: mathematics is real.
  ReplyMessages(std::span<const ReplyPiece> pieces, bool has_values, ComputeDevice& device);
  /// The memory of the longest message of a piece.
  std::span<std::byte> memory(std::size_t piece) const;
  void set_bytes(std::size_t piece, std::int64_t bytes) { lengths_[piece] = bytes; }
  Slice message(std::size_t piece) const;

 private:
  std::vector<std::size_t> offsets_;   ///< and the end
  std::vector<std::int64_t> lengths_;  ///< of messages
  DeviceArray<std::byte> all_;         ///< empty when math is modelled
};

/// What a reply to a worker brings.
struct HandedOut {
  Snapshot model;                                 ///< or the last mean; null when math is modelled
  std::shared_ptr<const ReplyMessages> messages;  ///< instead of it; null: it is sent uncompressed
};

/// The side of a server shard. Workers that have the same model get the same message.
class ReplyCompressor {
 public:
  /// Pre: the plan compresses replies. `model`: that all workers have as the job begins; null when math is
  /// modelled or servers send means.
  ReplyCompressor(const ExchangePlan& exchange, bool has_values, ComputeDevice& device,
                  const ShardPieces& pieces, const Snapshot& model);

  Bytes size(std::size_t piece) const { return Bytes(pieces_[piece].expected); }
  /// Bytes of the values that are compressed.
  Bytes values() const { return values_; }
  /// No message for the worker has been made of this version of the model, and it does not need all of it.
  bool is_due(int worker, std::int64_t version) const;
  /// Makes it. `model`: its current values, or the last mean, which becomes the one that is sent. Pre:
  /// is_due().
  Kernel compress(int worker, std::int64_t version, const Snapshot& model);
  /// What the worker gets now. Pre: not is_due().
  HandedOut hand_out(int worker, std::int64_t version, const Snapshot& model);
  /// The model that the worker has; null if that is the server's, or math is modelled.
  const Snapshot& known(int worker) const { return workers_[static_cast<std::size_t>(worker)].model; }

  /// Unsent parts of means, and what codecs have learnt. After a restore, workers get the whole model.
  void serialise(StateArchive& state);

 private:
  static constexpr int first_number = 1;
  /// A model that workers have.
  struct Known {
    int number = 0;  ///< workers with the same number have the same model; 0: nothing is known
    Snapshot model;  ///< null when math is modelled
  };
  /// The message from one such model to the current one.
  struct Made {
    int from = 0;
    Known to;
    std::shared_ptr<ReplyMessages> messages;
  };

  const Made* find(int worker, std::int64_t version) const;
  std::shared_ptr<ReplyMessages> fresh_messages();
  void send_values(ReplyMessages& messages, std::span<float> model, std::int64_t number);
  void send_difference(ReplyMessages& messages, std::span<const float> model, std::span<const float> from,
                       std::span<float> to, std::int64_t number);
  void finish_message(ReplyMessages& messages, std::size_t piece, std::span<const float> statistics);

  ComputeDevice& device_;
  bool has_values_;
  bool brings_differences_;
  std::vector<ReplyPiece> pieces_;
  std::vector<std::optional<compression::ErrorFeedback>> feedback_;  ///< by piece, of means
  Bytes values_{0};
  Snapshots snapshots_;
  std::vector<std::shared_ptr<ReplyMessages>> all_messages_;  ///< those without other owners are used again
  std::vector<Known> workers_;
  int numbers_ = first_number;  ///< the last one that was given
  std::int64_t version_ = -1;   ///< of the model to which the messages lead
  std::vector<Made> made_;
  std::int64_t whole_version_ = -1;  ///< of the model that was sent uncompressed last
  Known whole_;
};

/// The side of a worker.
class ReplyDecoder {
 public:
  /// Pre: the plan compresses replies.
  ReplyDecoder(const ExchangePlan& exchange, bool has_values, ComputeDevice& device);

  /// The servers do not know the model of this worker: where messages are differences, the next reply of each
  /// is all of it, uncompressed.
  void begin_anew();
  /// The shard's next reply is a message.
  bool expects_message(std::size_t shard) const { return !shards_[shard].sends_whole; }
  /// Where the message of the shard's piece of this index is received.
  Slice buffer(std::size_t shard, std::size_t index);
  /// The shard has replied with this version. `brings`: the model, or the mean; otherwise it brings nothing.
  void on_reply(std::size_t shard, int version, bool brings);
  /// A message has arrived with the last reply of some shard.
  bool has_message() const;
  /// Bytes of the trained elements of a bucket in the last messages.
  Bytes values(int bucket) const;
  /// The bucket's part of the last messages becomes part of the model, or is the mean.
  Kernel decode(Replica& replica, int bucket);
  /// Bytes of the last messages. Pre: they are decoded, or messages have one length, or math is modelled.
  std::int64_t bytes() const;

 private:
  struct Shard {
    std::vector<ReplyPiece> pieces;
    std::unique_ptr<ReplyMessages> messages;
    bool sends_whole = false;  ///< the model, with its next reply
    bool has_sent = false;     ///< a message, with its last reply
    int version = 0;           ///< of that
  };
  void decode_piece(Replica& replica, const ReplyPiece& piece, Shard& shard, std::size_t index);

  ComputeDevice& device_;
  bool brings_differences_;
  std::vector<Shard> shards_;
  FloatArray decoded_;  ///< of one piece
};

}  // namespace tandem
