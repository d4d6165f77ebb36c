#include "workloads/exchange/server_model.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem {

using Since = sync::DelayCompensation::Since;

namespace {

/// A coordinator has one empty piece: its messages carry a note alone.
ShardPieces pieces_of(const ExchangePlan& exchange, int shard) {
  if (exchange.route() != sync::Route::server) return {ShardPiece{}};
  return exchange.shard_layout().at(static_cast<std::size_t>(shard));
}

}  // namespace

ServerModel::ServerModel(const ReplicaPlan& plan, const ExchangePlan& exchange, ComputeDevice& device,
                         int shard, bool is_on_gpu)
    : device_(device),
      pieces_(pieces_of(exchange, shard)),
      elements_(shard_elements(pieces_)),
      pushes_(exchange, device, pieces_, {plan.real_math, is_on_gpu}),
      snapshots_(device, static_cast<std::size_t>(elements_)),
      only_averages_(exchange.servers_send_means()),
      payload_(exchange.payload()),
      optimizer_(exchange.optimizer_setting(), plan.real_math && !only_averages_ ? elements_ : 0, 0, device),
      compensator_(exchange.update_rule(), plan.real_math ? elements_ : 0, device),
      change_update_(exchange.update_rule(), exchange.global_rate(), plan.real_math ? elements_ : 0, device) {
  for (const ShardPiece& piece : pieces_)
    stretches_.push_back({piece.shard_offset, piece.parameters, piece.elements - piece.parameters});
  if (plan.real_math) {
    model_ = snapshots_.fresh();
    if (!only_averages_) load_initial(plan, exchange.averages_statistics());
  }
  if (exchange.compresses_replies()) replies_.emplace(exchange, plan.real_math, device, pieces_, model_);
  if (!plan.real_math) return;
  const sync::UpdateRule rule = exchange.update_rule();
  if (const auto* compensation = std::get_if<sync::DelayCompensation>(&rule))
    keeps_older_ = compensation->since;
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule); tie != nullptr && tie->asynchronous) {
    keeps_older_ = Since::handed_out;
    pull_ = static_cast<float>(tie->pull);
  }
  if (keeps_older_) older_.assign(static_cast<std::size_t>(exchange.sync_setting().workers), model_);
}

void ServerModel::load_initial(const ReplicaPlan& plan, bool averages_statistics) {
  std::vector<float> whole = initial_model(plan);
  for (const ShardPiece& piece : pieces_)
    device_.copy(model_->data() + piece.shard_offset, whole.data() + piece.flat_offset,
                 static_cast<std::size_t>(piece.bytes().count()));
  device_.finish();
  if (!averages_statistics) initial_ = std::move(whole);
}

/// Copies the model if a snapshot of it is in use, so that later changes do not reach the snapshot.
void ServerModel::keep_what_is_held() {
  if (Snapshots::is_held_by_owner_alone(model_)) return;
  const Snapshot before = model_;
  model_ = snapshots_.fresh();
  device_.copy(model_->data(), before->data(), before->bytes());
}

Kernel ServerModel::apply(double scale, std::int64_t round) {
  TANDEM_CHECK(scale == 1.0 || !only_averages_, "workers do not learn of the scale", scale);
  if (!model_) {
    pushes_.clear();
    return {};
  }
  if (only_averages_) return [this] { take_mean(); };
  return [this, scale, round] { update(scale, {round}); };
}

std::optional<Kernel> ServerModel::compress_reply(int worker, std::int64_t version) {
  if (!replies_ || !replies_->is_due(worker, version)) return std::nullopt;
  return replies_->compress(worker, version, model_);
}

HandedOut ServerModel::hand_out(int worker, std::int64_t version) {
  HandedOut reply{.model = model_, .messages = nullptr};
  if (replies_) reply = replies_->hand_out(worker, version, model_);
  if (keeps_older_ != Since::handed_out) return reply;
  const Snapshot known = replies_ ? replies_->known(worker) : nullptr;
  older_[static_cast<std::size_t>(worker)] = known ? known : model_;
  return reply;
}

/// Computes the mean of trained elements and of statistics. In lockstep, the last mean is no longer in
/// flight.
void ServerModel::take_mean() {
  if (pushes_.key().first == 0) {
    model_.reset();
    model_ = snapshots_.fresh();
  }
  const std::int64_t begin = pushes_.begin();
  device_.multiply(model_->data() + begin, pushes_.values().data() + begin, pushes_.elements(),
                   static_cast<float>(1.0 / pushes_.weight()));
  pushes_.clear();
}

void ServerModel::update(double scale, UpdateTime time) {
  const Snapshot older = keeps_older_ ? older_[static_cast<std::size_t>(pushes_.last_accepted())] : nullptr;
  if (keeps_older_ == Since::last_update) std::fill(older_.begin(), older_.end(), model_);
  keep_what_is_held();
  if (pushes_.key().first == 0) {
    optimizer_.begin_update(time, scale);
    change_update_.begin_update(optimizer_.rate_at(time));
  }
  if (payload_ == sync::Payload::gradient)
    step_by_gradient(older.get());
  else if (older != nullptr)
    give_way_to_worker(*older);
  else
    move_by_change(scale);
  pushes_.clear();
}

ServerModel::Stretch ServerModel::stretch_of(const ShardPiece& piece) {
  const auto begin = static_cast<std::size_t>(piece.shard_offset);
  const auto trained = static_cast<std::size_t>(piece.parameters);
  const auto statistics = static_cast<std::size_t>(piece.elements) - trained;
  const auto model = model_->span();
  const auto sum = pushes_.values();
  return {model.subspan(begin, trained), sum.subspan(begin, trained),
          model.subspan(begin + trained, statistics), sum.subspan(begin + trained, statistics)};
}

void ServerModel::step_by_gradient(const FloatArray* older) {
  const double share = 1.0 / pushes_.weight();
  if (older == nullptr)
    return optimizer_.apply(model_->span(), pushes_.values(), {.share = share, .statistics = share}, 0,
                            selected(stretches_));
  for (const ShardPiece& piece : selected(pieces_)) {
    const Stretch at = stretch_of(piece);
    device_.scale(at.trained_sum.data(), std::ssize(at.trained_sum), static_cast<float>(share));
    compensator_.correct(
        at.trained_sum, at.trained,
        older->span().subspan(static_cast<std::size_t>(piece.shard_offset), at.trained.size()),
        piece.shard_offset);
  }
  optimizer_.apply(model_->span(), pushes_.values(), {.statistics = share}, 0, selected(stretches_));
}

void ServerModel::move_by_change(double scale) {
  const double share = 1.0 / pushes_.weight();
  change_update_.apply(model_->span(), model_->span(), pushes_.values(), share, scale, 0,
                       selected(stretches_), share * scale);
}

/// The model of the worker that pushed is the centre that it was sent, plus its change.
void ServerModel::give_way_to_worker(const FloatArray& handed_out) {
  for (const ShardPiece& piece : selected(pieces_)) {
    const Stretch at = stretch_of(piece);
    const float* const sent = handed_out.data() + piece.shard_offset;
    const auto trained = std::ssize(at.trained), statistics = std::ssize(at.statistics);
    device_.add(at.trained_sum.data(), sent, trained, 1.0F);
    device_.approach(at.trained.data(), at.trained_sum.data(), trained, pull_);
    device_.add(at.statistics_sum.data(), sent + trained, statistics, 1.0F);
    device_.approach(at.statistics.data(), at.statistics_sum.data(), statistics, pull_);
  }
}

void ServerModel::serialise(StateArchive& state) {
  optimizer_.serialise(state);
  compensator_.serialise(state);
  change_update_.serialise(state);
  if (replies_) replies_->serialise(state);
  if (keeps_older_ != sync::DelayCompensation::Since::last_update || older_.empty()) return;
  const Snapshot older = state.restores() ? snapshots_.fresh() : older_.front();
  serialise_floats(state, "older", device_, older->span());
  if (state.restores()) std::fill(older_.begin(), older_.end(), older);
}

Slice ServerModel::slice(const HandedOut& reply, std::size_t index) const {
  if (reply.messages) return reply.messages->message(index);
  const ShardPiece& piece = pieces_[index];
  if (!reply.model) return {piece.bytes(), nullptr};
  return {piece.bytes(), reinterpret_cast<std::byte*>(reply.model->data() + piece.shard_offset)};
}

}  // namespace tandem
