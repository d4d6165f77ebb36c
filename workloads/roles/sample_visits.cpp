#include "workloads/roles/sample_visits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

constexpr float not_visited = std::numeric_limits<float>::quiet_NaN();

Slice slice_of(std::vector<float>& values, std::size_t count) {
  return {Bytes(static_cast<std::int64_t>(count * sizeof(float))),
          values.empty() ? nullptr : reinterpret_cast<std::byte*>(values.data())};
}

}  // namespace

SampleVisits::SampleVisits(const Roster& roster, const DataPlan& data, Context& context, int worker,
                           std::function<void(Pending&)> wait)
    : roster_(roster),
      data_(data),
      context_(context),
      worker_(worker),
      workers_(data.workers()),
      wait_(std::move(wait)) {
  if (data.has_lists()) first_ = data.first_list();
  if (data.needs_losses() && !data.models_losses())
    table_.assign(static_cast<std::size_t>(data.info().train_samples), not_visited);
}

void SampleVisits::next(int count, Batch& batch) {
  batch.ids.clear();
  batch.weights.clear();
  if (!data_.has_lists()) return next_of_shard(count, batch);
  begin_deals();
  if (!list_) begin_epoch(first_.epoch);
  if (taken_ == part()) {
    if (data_.needs_losses()) exchange_losses();
    before_epoch_ += static_cast<std::int64_t>(part());
    begin_epoch(epoch_ + 1);
  }
  last_ = taken_;
  const std::size_t end =
      std::min(part(), taken_ + static_cast<std::size_t>(deals_.until_next(total_, count)));
  total_ += static_cast<std::int64_t>(end - last_);
  batch.epochs.assign(end - last_, static_cast<std::int32_t>(epoch_));
  for (; taken_ < end; ++taken_) {
    batch.ids.push_back(list_->ids[place(taken_)]);
    if (!list_->weights.empty()) batch.weights.push_back(list_->weights[place(taken_)]);
  }
}

void SampleVisits::next_of_shard(int count, Batch& batch) {
  begin_deals();
  if (!shard_) shard_.emplace(data_.shard_visits(worker_));
  const auto now = static_cast<int>(deals_.until_next(total_, count));
  shard_->next(now, batch.ids, &batch.epochs);
  total_ += now;
  if (now == count) return;
  Batch others;
  next_of_shard(count - now, others);
  batch.ids.insert(batch.ids.end(), others.ids.begin(), others.ids.end());
  batch.epochs.insert(batch.epochs.end(), others.epochs.begin(), others.epochs.end());
}

void SampleVisits::follow(const sampling::MemberDeals& deals, int slot) {
  if (data_.knows_samples()) deals_.follow(deals, slot);
}

void SampleVisits::join(const sampling::MemberDeals& deals, int slot, std::int64_t samples) {
  total_ = samples;
  follow(deals, slot);
}

/// Those that the next sample belongs to.
void SampleVisits::begin_deals() {
  while (const auto part = deals_.take(total_)) {
    worker_ = part->place;
    workers_ = part->places;
    const std::int64_t taken = total_ - part->begin;
    if (!data_.has_lists()) {
      shard_.emplace(data_.shard_visits(*part));
      shard_->skip(taken);
      continue;
    }
    first_ = part->before->empty() ? data_.first_list() : data_.rest_list(*part);
    skip_in_lists(taken);
    before_epoch_ += part->begin;
  }
}

void SampleVisits::note_losses(std::span<const float> losses) {
  if (own_losses_.empty()) return;
  TANDEM_CHECK(losses.size() == taken_ - last_, losses.size(), taken_ - last_);
  std::ranges::copy(losses, own_losses_.begin() + static_cast<std::ptrdiff_t>(last_));
}

std::int64_t SampleVisits::epoch() const {
  if (data_.has_lists()) return epoch_;
  return shard_ ? shard_->epoch() : 0;
}

bool SampleVisits::has_trained(double epochs, std::int64_t samples) const {
  if (!data_.has_lists() || !list_) return false;
  // The next batch may have been loaded ahead, and be of the next epoch.
  const auto of_epoch = static_cast<double>(samples - before_epoch_);
  const double share = epoch_ == first_.epoch ? first_.share : 1.0;
  return static_cast<double>(epoch_) + (1.0 - share) + share * of_epoch / static_cast<double>(part()) >=
         epochs;
}

void SampleVisits::begin_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  list_ = data_.epoch_list(epoch, table_, first_);
  taken_ = last_ = 0;
  if (part() == 0)
    throw ConfigError("epoch " + std::to_string(epoch) + " has fewer samples (" +
                      std::to_string(list_->ids.size()) + ") than workers (" + std::to_string(workers_) +
                      ")");
  if (!table_.empty()) own_losses_.assign(part(), not_visited);
}

/// The first worker collects the losses of all parts and sends all of them to each worker. Modelled
/// mathematics sends messages of the same sizes.
void SampleVisits::exchange_losses() {
  const bool real = !table_.empty();
  const std::size_t count = part() * static_cast<std::size_t>(data_.workers());
  std::vector<float> all(real ? count : 0);
  const Rank first = roster_.first_worker();
  if (worker_ == 0) {
    collect(all);
    std::vector<Pending> sends;
    for (const Rank other : roster_.workers())
      if (other != first) sends.push_back(context_.send(other, protocol::loss_tables, slice_of(all, count)));
    for (Pending& send : sends) wait_(send);
  } else {
    Pending sent = context_.send(first, protocol::losses, slice_of(own_losses_, part()));
    Pending received = context_.receive(first, protocol::loss_tables, slice_of(all, count));
    wait_(sent);
    wait_(received);
  }
  if (real) keep_losses(all);
}

/// `all`: by position in the list.
void SampleVisits::collect(std::vector<float>& all) {
  const auto workers = roster_.workers();
  const auto put = [&](std::size_t worker, const std::vector<float>& losses) {
    for (std::size_t i = 0; i < losses.size(); ++i) all[worker + i * workers.size()] = losses[i];
  };
  put(0, own_losses_);
  std::vector<std::vector<float>> received(workers.size());
  std::vector<Pending> arriving;
  for (std::size_t worker = 1; worker < workers.size(); ++worker) {
    received[worker].resize(own_losses_.size());
    arriving.push_back(
        context_.receive(workers[worker], protocol::losses, slice_of(received[worker], part())));
  }
  for (std::size_t i = 0; i < arriving.size(); ++i) {
    wait_(arriving[i]);
    put(i + 1, received[i + 1]);
  }
}

/// What the next list may know becomes part of the table. `all`: by position in the list.
void SampleVisits::keep_losses(std::span<const float> all) {
  auto& newest = too_new_.emplace_back(table_.size(), not_visited);
  for (std::size_t i = 0; i < all.size(); ++i) newest[static_cast<std::size_t>(list_->ids[i])] = all[i];
  if (std::ssize(too_new_) <= data_.loss_lag()) return;
  const auto& oldest = too_new_.front();
  for (std::size_t id = 0; id < oldest.size(); ++id)
    if (!std::isnan(oldest[id])) table_[id] = oldest[id];
  too_new_.pop_front();
}

void SampleVisits::skip(std::int64_t samples) {
  total_ += samples;
  if (data_.has_lists()) return skip_in_lists(samples);
  if (!shard_) shard_.emplace(data_.shard_visits(worker_));
  shard_->skip(samples);
}

/// From the begin of the first list.
void SampleVisits::skip_in_lists(std::int64_t samples) {
  const std::int64_t first = first_.epoch;
  before_epoch_ = 0;
  begin_epoch(first);
  const auto of_first = static_cast<std::int64_t>(part());
  // An epoch begins when its first sample is taken.
  if (samples > of_first) {
    // All lists have the same length where they need no losses, except what is left of the first one.
    begin_epoch(first + 1);
    const auto each = static_cast<std::int64_t>(part());
    const std::int64_t epochs = (samples - of_first - 1) / each;
    if (epochs > 0) begin_epoch(first + 1 + epochs);
    before_epoch_ = of_first + epochs * each;
  }
  taken_ = last_ = static_cast<std::size_t>(samples - before_epoch_);
}

/// Of earlier epochs.
void SampleVisits::serialise_losses(StateArchive& state) {
  state.floats("losses", table_);
  const auto epochs = static_cast<std::size_t>(std::min<std::int64_t>(epoch_, data_.loss_lag()));
  if (state.restores()) too_new_.assign(epochs, std::vector<float>(table_.size()));
  TANDEM_CHECK(too_new_.size() == epochs, too_new_.size(), epochs);
  for (std::size_t i = 0; i < epochs; ++i)
    state.floats("losses_" + std::to_string(i) + "_too_new", too_new_[i]);
}

void SampleVisits::serialise(StateArchive& state) {
  if (!data_.needs_losses()) return;
  auto taken = static_cast<std::int64_t>(taken_);
  state.number("epoch", epoch_);
  state.number("epoch_samples", taken);
  state.number("samples_before_epoch", before_epoch_);
  if (!table_.empty()) serialise_losses(state);
  if (state.restores()) begin_epoch(epoch_);
  taken_ = last_ = static_cast<std::size_t>(taken);
  if (!own_losses_.empty()) state.floats("losses_of_epoch", own_losses_);
}

}  // namespace tandem
