#include "workloads/exchange/compressed_push.hpp"

#include "workloads/exchange/device_codec.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {
namespace {

std::int64_t statistics_bytes(const ShardPiece& piece) { return (piece.elements - piece.parameters) * 4; }

std::unique_ptr<compression::Codec> codec_of(const ExchangePlan& exchange, ComputeDevice& device, int worker,
                                             const ShardPiece& piece) {
  return make_device_codec(exchange, device,
                           exchange.compression_setting(worker, piece.flat_offset, piece.parameters));
}

/// Messages begin where any device can read any element.
std::size_t aligned(std::size_t offset) {
  constexpr std::size_t alignment = 64;
  return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace

PushCompressor::PushCompressor(const ExchangePlan& exchange, bool has_values, ComputeDevice& device,
                               int worker)
    : device_(device) {
  for (const ShardPieces& of_shard : exchange.shard_layout()) {
    auto& own = pieces_.emplace_back();
    for (const ShardPiece& extent : of_shard) {
      Piece& piece = own.emplace_back();
      piece.extent = extent;
      piece.codec = codec_of(exchange, device, worker, extent);
      piece.bytes = piece.codec->expected_bytes() + statistics_bytes(extent);
      if (!has_values) continue;
      // A server that waits for all workers never drops a push.
      if (exchange.has_error_feedback()) piece.feedback.emplace(device, exchange.is_timing_driven());
      const std::int64_t longest = piece.codec->message_bytes() + statistics_bytes(extent);
      piece.message = DeviceArray<std::byte>(device, static_cast<std::size_t>(longest));
    }
  }
}

void PushCompressor::Piece::compress(ComputeDevice& device, std::span<float> values, std::int64_t number) {
  const auto trained = values.first(static_cast<std::size_t>(extent.parameters));
  const auto statistics = std::as_bytes(values.subspan(trained.size()));
  const auto compressed = message.span().first(message.size() - statistics.size());
  compression::encode(*codec, feedback, trained, number, compressed, trained);
  const std::int64_t end = codec->bytes_of(compressed);
  device.copy(message.data() + end, statistics.data(), statistics.size());
  bytes = end + std::ssize(statistics);
}

Kernel PushCompressor::compress(Replica& replica, sync::Payload payload, int bucket,
                                std::span<const std::int64_t> numbers) {
  if (replica.payload(payload, 0, 0).data == nullptr) return {};
  return [this, &replica, payload, bucket, numbers = std::vector(numbers.begin(), numbers.end())] {
    for (std::size_t shard = 0; shard < pieces_.size(); ++shard)
      for (Piece& piece : pieces_[shard]) {
        if (piece.extent.bucket != bucket) continue;
        const auto values =
            floats_of(replica.payload(payload, piece.extent.flat_offset, piece.extent.elements));
        piece.compress(device_, values, numbers[shard]);
      }
  };
}

Slice PushCompressor::message(std::size_t shard, std::size_t index) {
  Piece& piece = pieces_[shard][index];
  return {Bytes(piece.bytes), piece.message.empty() ? nullptr : piece.message.data()};
}

void PushCompressor::take_back(std::size_t shard, int buckets) {
  for (Piece& piece : pieces_[shard])
    if (piece.feedback && piece.extent.bucket < buckets) piece.feedback->take_back();
}

void PushCompressor::serialise(StateArchive& state) {
  for (std::size_t shard = 0; shard < pieces_.size(); ++shard)
    for (std::size_t index = 0; index < pieces_[shard].size(); ++index) {
      Piece& piece = pieces_[shard][index];
      const std::string name = "compression." + std::to_string(shard) + '.' + std::to_string(index);
      const auto trained = static_cast<std::size_t>(piece.extent.parameters);
      if (piece.message.empty()) continue;
      if (piece.feedback)
        piece.feedback->serialise(state, name + ".unsent", trained, piece.codec->memory_vectors());
      serialise_floats(state, name + ".learnt", device_, piece.codec->learnt());
    }
}

PushDecoder::PushDecoder(const ExchangePlan& exchange, bool has_values, ComputeDevice& device,
                         const ShardPieces& pieces)
    : device_(device),
      numbers_(static_cast<std::size_t>(exchange.sync_setting().workers), -1),
      messages_(numbers_.size()) {
  std::size_t bytes = 0;
  for (const ShardPiece& extent : pieces) {
    // Messages of all workers have the same form.
    Piece piece{extent, codec_of(exchange, device, 0, extent), bytes};
    piece.message_bytes = piece.codec->message_bytes() + statistics_bytes(extent);
    bytes = aligned(bytes + static_cast<std::size_t>(piece.message_bytes));
    pieces_.push_back(std::move(piece));
  }
  if (!has_values) return;
  for (auto& messages : messages_) messages = DeviceArray<std::byte>(device, bytes);
}

Slice PushDecoder::buffer(int worker, std::size_t index) {
  const Piece& piece = pieces_[index];
  auto& messages = messages_[static_cast<std::size_t>(worker)];
  return {Bytes(piece.message_bytes), messages.empty() ? nullptr : messages.data() + piece.offset};
}

void PushDecoder::decode(int worker, std::span<float> values, const ShardKey& key) {
  const auto index = static_cast<std::size_t>(worker);
  const std::span<const std::byte> all = messages_[index].span();
  for (std::size_t i = key.first; i <= key.last; ++i) {
    const Piece& piece = pieces_[i];
    const auto message = all.subspan(piece.offset, static_cast<std::size_t>(piece.message_bytes));
    const auto compressed = message.first(static_cast<std::size_t>(piece.codec->bytes_of(message)));
    const auto target = values.subspan(static_cast<std::size_t>(piece.extent.shard_offset),
                                       static_cast<std::size_t>(piece.extent.elements));
    const auto trained = target.first(static_cast<std::size_t>(piece.extent.parameters));
    piece.codec->decode(compressed, numbers_[index], trained);
    const auto statistics = std::as_writable_bytes(target.subspan(trained.size()));
    device_.copy(statistics.data(), message.data() + compressed.size(), statistics.size());
  }
}

}  // namespace tandem
