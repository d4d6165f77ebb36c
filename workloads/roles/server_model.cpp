#include "workloads/roles/server_model.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "workloads/roles/replica.hpp"

namespace tandem {

using Since = sync::DelayCompensation::Since;

namespace {

/// A coordinator has one piece of no elements: what is a message with part of the model, is a note alone.
ShardPieces pieces_of(const Job& job, int shard) {
  if (job.route() != sync::Route::server) return {ShardPiece{}};
  return job.shard_layout().at(static_cast<std::size_t>(shard));
}

}  // namespace

ServerModel::ServerModel(const Job& job, int shard)
    : pieces_(pieces_of(job, shard)),
      elements_(shard_elements(pieces_)),
      only_averages_(job.servers_send_means()),
      payload_(job.algorithm().make.payload),
      optimizer_(job.optimizer_setting(), job.real_math() && !only_averages_ ? elements_ : 0),
      compensator_(job.update_rule(), job.real_math() ? elements_ : 0),
      change_update_(job.update_rule(), job.experiment().optimizer.global_rate,
                     job.real_math() ? elements_ : 0) {
  if (job.compression() != nullptr && job.route() == sync::Route::server) decoder_.emplace(job, pieces_);
  if (!job.real_math()) return;
  model_ = std::make_shared<std::vector<float>>(static_cast<std::size_t>(elements_));
  if (!only_averages_) take_initial(job);
  slots_.assign(job.ranks_of(Seat::Role::worker).size(), std::vector<float>(model_->size()));
  aggregate_.assign(model_->size(), 0.0F);
  const sync::UpdateRule rule = job.update_rule();
  if (const auto* compensation = std::get_if<sync::DelayCompensation>(&rule))
    keeps_older_ = compensation->since;
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule); tie != nullptr && tie->asynchronous) {
    keeps_older_ = Since::handed_out;
    pull_ = static_cast<float>(tie->pull);
  }
  if (keeps_older_) older_.assign(slots_.size(), model_);
}

void ServerModel::take_initial(const Job& job) {
  std::vector<float> whole = initial_model(job);
  for (const ShardPiece& piece : pieces_)
    std::copy_n(whole.begin() + piece.flat_offset, piece.elements, model_->begin() + piece.shard_offset);
  if (!job.experiment().sync.average_statistics) initial_ = std::move(whole);
}

Slice ServerModel::slot(int worker, std::size_t index) {
  if (decoder_) return decoder_->slot(worker, index);
  const ShardPiece& piece = pieces_[index];
  if (!model_) return {piece.bytes(), nullptr};
  float* data = slots_[static_cast<std::size_t>(worker)].data() + piece.shard_offset;
  return {piece.bytes(), reinterpret_cast<std::byte*>(data)};
}

void ServerModel::accept(int worker, double weight) {
  accepted_.emplace_back(worker, weight);
  pusher_ = worker;
}

bool ServerModel::has_accepted(int worker) const {
  return std::any_of(accepted_.begin(), accepted_.end(),
                     [&](const auto& one) { return one.first == worker; });
}

Kernel ServerModel::decompress() {
  if (!model_) return {};
  return [this] {
    for (const auto& [worker, weight] : accepted_)
      decoder_->decode(worker, slots_[static_cast<std::size_t>(worker)]);
  };
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

Kernel ServerModel::apply(double scale, std::int64_t round) {
  TANDEM_CHECK(scale == 1.0 || !only_averages_, "workers do not learn of the scale", scale);
  if (!model_) {
    total_weight_ = 0.0;
    return {};
  }
  if (only_averages_) return [this] { take_mean(); };
  return [this, scale, round] { update(scale, {round}); };
}

ServerModel::Snapshot ServerModel::hand_out(int worker) {
  if (keeps_older_ == Since::handed_out) older_[static_cast<std::size_t>(worker)] = model_;
  return model_;
}

/// Of trained elements and of statistics alike. In lockstep nobody still sends the last one.
void ServerModel::take_mean() {
  if (model_.use_count() > 1) model_ = std::make_shared<std::vector<float>>(aggregate_.size());
  const auto share = static_cast<float>(1.0 / total_weight_);
  for (std::size_t i = 0; i < aggregate_.size(); ++i) (*model_)[i] = share * aggregate_[i];
  std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  total_weight_ = 0.0;
}

void ServerModel::update(double scale, UpdateTime time) {
  const Snapshot older = keeps_older_ ? older_[static_cast<std::size_t>(pusher_)] : nullptr;
  if (keeps_older_ == Since::last_update) std::fill(older_.begin(), older_.end(), model_);
  if (model_.use_count() > 1) model_ = std::make_shared<std::vector<float>>(*model_);
  optimizer_.begin_update(time, scale);
  change_update_.begin_update(optimizer_.rate_at(time));
  for (const ShardPiece& piece : pieces_) {
    if (payload_ == sync::Payload::gradient)
      step_by_gradient(piece, older.get());
    else
      move_by_change(piece, scale, older.get());
  }
  std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  total_weight_ = 0.0;
}

ServerModel::Stretch ServerModel::stretch_of(const ShardPiece& piece) {
  const auto begin = static_cast<std::size_t>(piece.shard_offset);
  const auto trained = static_cast<std::size_t>(piece.parameters);
  const auto statistics = static_cast<std::size_t>(piece.elements) - trained;
  const auto model = std::span(*model_), aggregate = std::span(aggregate_);
  return {model.subspan(begin, trained), aggregate.subspan(begin, trained),
          model.subspan(begin + trained, statistics), aggregate.subspan(begin + trained, statistics)};
}

void ServerModel::step_by_gradient(const ShardPiece& piece, const std::vector<float>* older) {
  const Stretch at = stretch_of(piece);
  const auto share = static_cast<float>(1.0 / total_weight_);
  for (float& value : at.trained_sum) value *= share;
  if (older != nullptr)
    compensator_.correct(
        at.trained_sum, at.trained,
        std::span(*older).subspan(static_cast<std::size_t>(piece.shard_offset), at.trained.size()),
        piece.shard_offset);
  optimizer_.apply(at.trained, at.trained_sum, 1.0, piece.shard_offset);
  for (std::size_t i = 0; i < at.statistics.size(); ++i) at.statistics[i] = share * at.statistics_sum[i];
}

void ServerModel::move_by_change(const ShardPiece& piece, double scale, const std::vector<float>* older) {
  const Stretch at = stretch_of(piece);
  if (older != nullptr) return give_way_to_worker(piece, at, *older);
  const double share = 1.0 / total_weight_;
  change_update_.apply(at.trained, at.trained, at.trained_sum, share, scale, piece.shard_offset);
  for (std::size_t i = 0; i < at.statistics.size(); ++i)
    at.statistics[i] += static_cast<float>(share * scale) * at.statistics_sum[i];
}

/// The pusher's model is the centre that it was sent, and its change.
void ServerModel::give_way_to_worker(const ShardPiece& piece, const Stretch& at,
                                     const std::vector<float>& handed_out) {
  const auto sent = std::span(handed_out).subspan(static_cast<std::size_t>(piece.shard_offset));
  const std::size_t trained = at.trained.size();
  for (std::size_t i = 0; i < trained; ++i)
    at.trained[i] += pull_ * (sent[i] + at.trained_sum[i] - at.trained[i]);
  for (std::size_t i = 0; i < at.statistics.size(); ++i)
    at.statistics[i] += pull_ * (sent[trained + i] + at.statistics_sum[i] - at.statistics[i]);
}

void ServerModel::remember(StateArchive& state) {
  optimizer_.remember(state);
  compensator_.remember(state);
  change_update_.remember(state);
  if (keeps_older_ != sync::DelayCompensation::Since::last_update || older_.empty()) return;
  auto older = std::make_shared<std::vector<float>>(*older_.front());
  state.floats("older", *older);
  if (state.restores()) std::fill(older_.begin(), older_.end(), older);
}

void ServerModel::remember_sum(StateArchive& state) {
  state.number("sum.weight", total_weight_);
  if (total_weight_ > 0.0) state.floats("sum", aggregate_);
}

Slice ServerModel::slice(const Snapshot& snapshot, std::size_t index) const {
  const ShardPiece& piece = pieces_[index];
  if (!snapshot) return {piece.bytes(), nullptr};
  return {piece.bytes(), reinterpret_cast<std::byte*>(snapshot->data() + piece.shard_offset)};
}

}  // namespace tandem
