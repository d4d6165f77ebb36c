#include "workloads/exchange/push_sum.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {

PushSum::PushSum(const ExchangePlan& exchange, ComputeDevice& device, const ShardPieces& pieces,
                 Setting setting)
    : device_(device),
      pieces_(pieces),
      setting_(setting),
      key_{0, pieces.size() - 1},
      elements_(shard_elements(pieces)) {
  if (exchange.compression() != nullptr && exchange.route() == sync::Route::server)
    decoder_.emplace(exchange, setting.real_math, device, pieces);
  if (!setting.real_math) return;
  const auto size = static_cast<std::size_t>(elements_);
  for (int worker = 0; worker < exchange.sync_setting().workers; ++worker)
    buffers_.emplace_back(device, size);
  aggregate_ = FloatArray(device, size);
  values_ = aggregate_.span();
}

void PushSum::select(const ShardKey& key) {
  if (key.first == key_.first && key.last == key_.last) return;
  TANDEM_CHECK(accepted_.empty() && weight_ == 0.0, "accepted pushes of another key", accepted_.size());
  const ShardPiece& last = pieces_[key.last];
  key_ = key;
  begin_ = pieces_[key.first].shard_offset;
  elements_ = last.shard_offset + last.elements - begin_;
}

Slice PushSum::buffer(int worker, std::size_t index) {
  if (decoder_) return decoder_->buffer(worker, index);
  const ShardPiece& piece = pieces_[index];
  if (!setting_.real_math) return {piece.bytes(), nullptr};
  float* data = buffers_[static_cast<std::size_t>(worker)].data() + piece.shard_offset;
  return {piece.bytes(), reinterpret_cast<std::byte*>(data)};
}

void PushSum::accept(int worker, double weight) {
  accepted_.emplace_back(worker, weight);
  last_accepted_ = worker;
}

void PushSum::drop(int worker) {
  TANDEM_CHECK(has_accepted(worker), "no accepted push of worker", worker);
  std::erase_if(accepted_, [worker](const auto& one) { return one.first == worker; });
}

bool PushSum::has_accepted(int worker) const {
  return std::any_of(accepted_.begin(), accepted_.end(),
                     [&](const auto& one) { return one.first == worker; });
}

Kernel PushSum::decompress() {
  if (!setting_.real_math) return {};
  return [this] {
    for (const auto& [worker, weight] : accepted_)
      decoder_->decode(worker, buffers_[static_cast<std::size_t>(worker)].span(), key_);
  };
}

Kernel PushSum::fold(bool before_update) {
  std::stable_sort(accepted_.begin(), accepted_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool from_buffer = takes_from_buffer(before_update);
  for (const auto& [worker, weight] : accepted_) weight_ += weight;
  if (!setting_.real_math) {
    accepted_.clear();
    return {};
  }
  if (!from_buffer) return [this] { add_up(); };
  values_ = buffers_[static_cast<std::size_t>(accepted_.front().first)].span();
  accepted_.clear();
  return [] {};
}

void PushSum::add_up() {
  terms_.clear();
  for (const auto& [worker, weight] : accepted_)
    terms_.push_back(
        {buffers_[static_cast<std::size_t>(worker)].data() + begin_, static_cast<float>(weight)});
  device_.add_terms(aggregate_.data() + begin_, !has_aggregate_, terms_, elements_);
  has_aggregate_ = true;
  accepted_.clear();
}

void PushSum::clear() {
  has_aggregate_ = false;
  values_ = aggregate_.span();
  weight_ = 0.0;
}

void PushSum::serialise(StateArchive& state) {
  state.number("sum.weight", weight_);
  if (weight_ == 0.0) return;
  serialise_floats(state, "sum", device_, aggregate_.span());
  has_aggregate_ = true;
}

}  // namespace tandem
