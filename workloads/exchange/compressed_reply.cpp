#include "workloads/exchange/compressed_reply.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/device_codec.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {
namespace {

/// Messages begin where any device can read any element.
constexpr std::size_t message_alignment = 64;

/// Draws of a message are those of the pushes from which its version was made: the elements that all workers
/// have sent are those that the reply brings.
std::int64_t number_of_reply(std::int64_t version) { return version - 1; }

std::vector<ReplyPiece> pieces_of(const ExchangePlan& exchange, ComputeDevice& device,
                                  const ShardPieces& extents) {
  // A sender of its own, after the workers.
  const int server = exchange.sync_setting().workers;
  std::vector<ReplyPiece> pieces;
  for (const ShardPiece& extent : extents) {
    ReplyPiece& piece = pieces.emplace_back();
    piece.extent = extent;
    auto setting = exchange.compression_setting(server, extent.flat_offset, extent.parameters);
    setting.is_gradient = false;
    piece.codec = make_device_codec(exchange, device, setting);
    const std::int64_t statistics = (extent.elements - extent.parameters) * 4;
    piece.longest = piece.codec->message_bytes() + statistics;
    piece.expected = piece.codec->expected_bytes() + statistics;
  }
  return pieces;
}

std::size_t trained(const ShardPiece& extent) { return static_cast<std::size_t>(extent.parameters); }

/// A piece's part of a vector of the shard.
template <class T>
std::span<T> part_of(std::span<T> shard, const ShardPiece& extent) {
  return shard.subspan(static_cast<std::size_t>(extent.shard_offset),
                       static_cast<std::size_t>(extent.elements));
}

}  // namespace

// ---- Messages ----

ReplyMessages::ReplyMessages(std::span<const ReplyPiece> pieces, bool has_values, ComputeDevice& device) {
  std::size_t bytes = 0;
  for (const ReplyPiece& piece : pieces) {
    offsets_.push_back(bytes);
    lengths_.push_back(has_values ? piece.longest : piece.expected);
    bytes += (static_cast<std::size_t>(piece.longest) + message_alignment - 1) / message_alignment *
             message_alignment;
  }
  offsets_.push_back(bytes);
  if (has_values) all_ = DeviceArray<std::byte>(device, bytes);
}

std::span<std::byte> ReplyMessages::memory(std::size_t piece) const {
  return all_.span().subspan(offsets_[piece], offsets_[piece + 1] - offsets_[piece]);
}

Slice ReplyMessages::message(std::size_t piece) const {
  return {Bytes(lengths_[piece]), all_.empty() ? nullptr : all_.data() + offsets_[piece]};
}

// ---- Server ----

ReplyCompressor::ReplyCompressor(const ExchangePlan& exchange, bool has_values, ComputeDevice& device,
                                 const ShardPieces& pieces, const Snapshot& model)
    : device_(device),
      has_values_(has_values),
      brings_differences_(exchange.replies_bring_differences()),
      pieces_(pieces_of(exchange, device, pieces)),
      feedback_(pieces_.size()),
      snapshots_(device, static_cast<std::size_t>(shard_elements(pieces))),
      workers_(static_cast<std::size_t>(exchange.sync_setting().workers), Known{first_number, nullptr}) {
  for (const ReplyPiece& piece : pieces_) values_ += Bytes(piece.extent.parameters * 4);
  if (!has_values) return;
  if (!brings_differences_) {
    for (auto& feedback : feedback_)
      if (exchange.has_error_feedback()) feedback.emplace(device);
    return;
  }
  const Snapshot initial = snapshots_.fresh();
  device.copy(initial->data(), model->data(), model->bytes());
  for (Known& worker : workers_) worker.model = initial;
}

const ReplyCompressor::Made* ReplyCompressor::find(int worker, std::int64_t version) const {
  const int from = workers_[static_cast<std::size_t>(worker)].number;
  if (version != version_) return nullptr;
  const auto found = std::ranges::find(made_, from, &Made::from);
  return found == made_.end() ? nullptr : &*found;
}

bool ReplyCompressor::is_due(int worker, std::int64_t version) const {
  const bool needs_whole = brings_differences_ && workers_[static_cast<std::size_t>(worker)].number == 0;
  return !needs_whole && find(worker, version) == nullptr;
}

std::shared_ptr<ReplyMessages> ReplyCompressor::fresh_messages() {
  for (const auto& messages : all_messages_)
    if (messages.use_count() == 1) return messages;
  return all_messages_.emplace_back(std::make_shared<ReplyMessages>(pieces_, has_values_, device_));
}

Kernel ReplyCompressor::compress(int worker, std::int64_t version, const Snapshot& model) {
  TANDEM_CHECK(is_due(worker, version), "a second message of version", version, "to worker", worker);
  if (version != version_) made_.clear();
  version_ = version;
  const Known from = workers_[static_cast<std::size_t>(worker)];
  Made& made = made_.emplace_back(Made{.from = from.number, .to = from, .messages = fresh_messages()});
  if (brings_differences_) made.to = {++numbers_, has_values_ ? snapshots_.fresh() : Snapshot()};
  if (!has_values_) return {};
  const std::int64_t number = number_of_reply(version);
  return [this, messages = made.messages, to = made.to.model, from = from.model, model, number] {
    if (brings_differences_)
      send_difference(*messages, model->span(), from->span(), to->span(), number);
    else
      send_values(*messages, model->span(), number);
  };
}

void ReplyCompressor::send_values(ReplyMessages& messages, std::span<float> model, std::int64_t number) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const ReplyPiece& piece = pieces_[i];
    const auto values = part_of(model, piece.extent);
    const auto own = values.first(trained(piece.extent));
    compression::encode(*piece.codec, feedback_[i], own, number,
                        messages.memory(i).first(static_cast<std::size_t>(piece.codec->message_bytes())),
                        own);
    finish_message(messages, i, values.subspan(own.size()));
  }
}

/// The worker adds the same decoded floats to the same ones, so it has exactly `to` then.
void ReplyCompressor::send_difference(ReplyMessages& messages, std::span<const float> model,
                                      std::span<const float> from, std::span<float> to, std::int64_t number) {
  device_.subtract(to.data(), model.data(), from.data(), std::ssize(to));
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const ReplyPiece& piece = pieces_[i];
    const auto values = part_of(to, piece.extent);
    const auto own = values.first(trained(piece.extent));
    const auto message = messages.memory(i).first(static_cast<std::size_t>(piece.codec->message_bytes()));
    piece.codec->encode(own, number, message);
    piece.codec->decode(message, number, own);
    device_.add(own.data(), part_of(from, piece.extent).data(), std::ssize(own), 1.0F);
    const auto statistics = part_of(model, piece.extent).subspan(own.size());
    device_.copy(values.data() + own.size(), statistics.data(), statistics.size_bytes());
    finish_message(messages, i, statistics);
  }
}

void ReplyCompressor::finish_message(ReplyMessages& messages, std::size_t piece,
                                     std::span<const float> statistics) {
  const auto memory = messages.memory(piece);
  const std::int64_t end = pieces_[piece].codec->bytes_of(memory);
  device_.copy(memory.data() + end, statistics.data(), statistics.size_bytes());
  messages.set_bytes(piece, end + static_cast<std::int64_t>(statistics.size_bytes()));
}

HandedOut ReplyCompressor::hand_out(int worker, std::int64_t version, const Snapshot& model) {
  Known& known = workers_[static_cast<std::size_t>(worker)];
  if (const Made* const made = find(worker, version)) {
    known = made->to;
    return {.model = nullptr, .messages = made->messages};
  }
  TANDEM_CHECK(!is_due(worker, version), "no message for worker", worker);
  if (whole_version_ != version) {
    whole_version_ = version;
    whole_ = {++numbers_, has_values_ ? snapshots_.fresh() : Snapshot()};
    if (has_values_) device_.copy(whole_.model->data(), model->data(), model->bytes());
  }
  known = whole_;
  return {.model = model, .messages = nullptr};
}

void ReplyCompressor::serialise(StateArchive& state) {
  for (std::size_t i = 0; i < pieces_.size() && has_values_; ++i) {
    const std::string name = "reply." + std::to_string(i);
    if (feedback_[i])
      feedback_[i]->serialise(state, name + ".unsent", trained(pieces_[i].extent),
                              pieces_[i].codec->memory_vectors());
    serialise_floats(state, name + ".learnt", device_, pieces_[i].codec->learnt());
  }
  if (!state.restores() || !brings_differences_) return;
  for (Known& worker : workers_) worker = {};
}

// ---- Worker ----

ReplyDecoder::ReplyDecoder(const ExchangePlan& exchange, bool has_values, ComputeDevice& device)
    : device_(device), brings_differences_(exchange.replies_bring_differences()) {
  std::int64_t longest = 0;
  for (const ShardPieces& extents : exchange.shard_layout()) {
    Shard& shard = shards_.emplace_back();
    shard.pieces = pieces_of(exchange, device, extents);
    shard.messages = std::make_unique<ReplyMessages>(shard.pieces, has_values, device);
    for (const ShardPiece& extent : extents) longest = std::max(longest, extent.parameters);
  }
  if (has_values && brings_differences_) decoded_ = FloatArray(device, static_cast<std::size_t>(longest));
}

Slice ReplyDecoder::buffer(std::size_t shard, std::size_t index) {
  const Shard& of = shards_[shard];
  return {Bytes(of.pieces[index].longest), of.messages->message(index).data};
}

void ReplyDecoder::begin_anew() {
  for (Shard& shard : shards_) shard.sends_whole = brings_differences_;
}

void ReplyDecoder::on_reply(std::size_t shard, int version, bool brings) {
  Shard& of = shards_[shard];
  of.has_sent = brings && !of.sends_whole;
  of.version = version;
  if (brings) of.sends_whole = false;
}

bool ReplyDecoder::has_message() const { return std::ranges::any_of(shards_, &Shard::has_sent); }

Bytes ReplyDecoder::values(int bucket) const {
  Bytes sum{0};
  for (const Shard& shard : shards_)
    for (const ReplyPiece& piece : shard.pieces)
      if (shard.has_sent && piece.extent.bucket == bucket) sum += Bytes(piece.extent.parameters * 4);
  return sum;
}

Kernel ReplyDecoder::decode(Replica& replica, int bucket) {
  if (!replica.has_values()) return {};
  return [this, &replica, bucket] {
    for (Shard& shard : shards_)
      for (std::size_t index = 0; index < shard.pieces.size() && shard.has_sent; ++index)
        if (shard.pieces[index].extent.bucket == bucket)
          decode_piece(replica, shard.pieces[index], shard, index);
  };
}

void ReplyDecoder::decode_piece(Replica& replica, const ReplyPiece& piece, Shard& shard, std::size_t index) {
  const std::int64_t number = number_of_reply(shard.version);
  const ShardPiece& extent = piece.extent;
  const auto memory = shard.messages->memory(index);
  const auto message = memory.first(static_cast<std::size_t>(piece.codec->bytes_of(memory)));
  const auto values = floats_of(replica.incoming(extent.flat_offset, extent.elements));
  const auto own = values.first(trained(extent));
  if (brings_differences_) {
    const auto change = decoded_.span().first(own.size());
    piece.codec->decode(message, number, change);
    const auto before = floats_of(replica.known(extent.flat_offset, extent.parameters));
    if (before.data() != own.data()) device_.copy(own.data(), before.data(), own.size_bytes());
    device_.add(own.data(), change.data(), std::ssize(own), 1.0F);
  } else {
    piece.codec->decode(message, number, own);
  }
  const auto statistics = values.subspan(own.size());
  device_.copy(statistics.data(), message.data() + message.size(), statistics.size_bytes());
  shard.messages->set_bytes(index, std::ssize(message) + static_cast<std::int64_t>(statistics.size_bytes()));
}

std::int64_t ReplyDecoder::bytes() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards_)
    for (std::size_t index = 0; index < shard.pieces.size() && shard.has_sent; ++index)
      sum += shard.messages->message(index).size.count();
  return sum;
}

}  // namespace tandem
