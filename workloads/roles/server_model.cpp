#include "workloads/roles/server_model.hpp"

#include <algorithm>

#include "workloads/roles/replica.hpp"

namespace tandem {

ServerModel::ServerModel(const Job& job, int shard)
    : pieces_(shard_pieces(job.model(), static_cast<int>(job.ranks_of(Seat::Role::server).size()), shard)),
      elements_(shard_elements(pieces_)),
      payload_(job.algorithm().make.payload),
      global_rate_(job.experiment().optimizer.global_rate),
      optimizer_(job.experiment().optimizer.learning_rate, job.experiment().optimizer.momentum,
                 job.experiment().optimizer.weight_decay, job.real_math() ? elements_ : 0) {
  if (!job.real_math()) return;
  const std::vector<float> whole = initial_model(job);
  model_ = std::make_shared<std::vector<float>>();
  for (const ShardPiece& piece : pieces_)
    model_->insert(model_->end(), whole.begin() + piece.flat_offset,
                   whole.begin() + piece.flat_offset + piece.elements);
  slots_.assign(job.ranks_of(Seat::Role::worker).size(), std::vector<float>(model_->size()));
  aggregate_.assign(model_->size(), 0.0F);
}

Slice ServerModel::slot(int worker, int bucket) {
  const ShardPiece& piece = pieces_[static_cast<std::size_t>(bucket)];
  if (!model_) return {piece.bytes(), nullptr};
  float* data = slots_[static_cast<std::size_t>(worker)].data() + piece.shard_offset;
  return {piece.bytes(), reinterpret_cast<std::byte*>(data)};
}

void ServerModel::accept(int worker, double weight) { accepted_.emplace_back(worker, weight); }

bool ServerModel::has_accepted(int worker) const {
  return std::any_of(accepted_.begin(), accepted_.end(),
                     [&](const auto& one) { return one.first == worker; });
}

Kernel ServerModel::fold() {
  std::stable_sort(accepted_.begin(), accepted_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [worker, weight] : accepted_) total_weight_ += weight;
  if (!model_) {
    accepted_.clear();
    return {};
  }
  return [this] { add_up(); };
}

void ServerModel::add_up() {
  for (const auto& [worker, weight] : accepted_) {
    const auto& slot = slots_[static_cast<std::size_t>(worker)];
    const auto factor = static_cast<float>(weight);
    for (std::size_t i = 0; i < aggregate_.size(); ++i) aggregate_[i] += factor * slot[i];
  }
  accepted_.clear();
}

Kernel ServerModel::apply(double scale) {
  if (!model_) {
    total_weight_ = 0.0;
    return {};
  }
  return [this, scale] { update(scale); };
}

void ServerModel::update(double scale) {
  if (model_.use_count() > 1) model_ = std::make_shared<std::vector<float>>(*model_);
  const auto share = static_cast<float>(1.0 / total_weight_);
  for (float& value : aggregate_) value *= share;
  for (const ShardPiece& piece : pieces_) {
    const auto begin = static_cast<std::size_t>(piece.shard_offset);
    const auto trained = static_cast<std::size_t>(piece.parameters);
    const auto end = begin + static_cast<std::size_t>(piece.elements);
    const auto model = std::span(*model_);
    const auto mean = std::span<const float>(aggregate_);
    if (payload_ == sync::Payload::gradient) {
      optimizer_.apply(model.subspan(begin, trained), mean.subspan(begin, trained), scale,
                       piece.shard_offset);
      for (std::size_t i = begin + trained; i < end; ++i) model[i] = mean[i];
      continue;
    }
    const auto rate = static_cast<float>(global_rate_ * scale);
    for (std::size_t i = begin; i < begin + trained; ++i) model[i] += rate * mean[i];
    for (std::size_t i = begin + trained; i < end; ++i) model[i] += mean[i];
  }
  std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  total_weight_ = 0.0;
}

Slice ServerModel::slice(const Snapshot& snapshot, int bucket) const {
  const ShardPiece& piece = pieces_[static_cast<std::size_t>(bucket)];
  if (!snapshot) return {piece.bytes(), nullptr};
  return {piece.bytes(), reinterpret_cast<std::byte*>(snapshot->data() + piece.shard_offset)};
}

}  // namespace tandem
