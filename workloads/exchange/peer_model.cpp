#include "workloads/exchange/peer_model.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

PeerModel::PeerModel(Replica& replica, std::size_t callers)
    : replica_(replica),
      real_(!replica.model().empty()),
      device_(replica.device()),
      begun_(array()),
      snapshots_(device_, begun_.size()),
      mean_(snapshots_.fresh()),
      replies_(callers) {
  for (std::size_t caller = 0; caller < callers; ++caller) calls_.push_back(array());
  std::int64_t most = 0;
  for (const auto& bucket : replica.description().buckets) most = std::max(most, bucket.statistics);
  if (real_) drift_ = FloatArray(device_, static_cast<std::size_t>(most));
}

Slice PeerModel::slice(const FloatArray& values) const {
  return {replica_.description().bytes(), reinterpret_cast<std::byte*>(values.data())};
}

void PeerModel::compute(Context& context, std::size_t models, Kernel kernel) const {
  const Bytes bytes = replica_.description().bytes() * static_cast<std::int64_t>(models);
  Pending work = context.compute({.kind = Work::Kind::reduce, .bytes = bytes}, std::move(kernel));
  context.wait(work);
}

Slice PeerModel::begun() { return slice(begun_); }

Slice PeerModel::arrival(std::size_t index) {
  while (arrivals_.size() <= index) arrivals_.push_back(array());
  return slice(arrivals_[index]);
}

Kernel PeerModel::begin() {
  if (!real_) return {};
  return [this] {
    device_.copy(begun_.data(), replica_.model().data(), begun_.bytes());
    mean_ = snapshots_.fresh();
    device_.copy(mean_->data(), begun_.data(), begun_.bytes());
  };
}

Kernel PeerModel::mix(std::size_t others, std::size_t place) {
  if (!real_) return {};
  return [this, others, place] {
    const Snapshot own = mean_;
    mean_ = snapshots_.fresh();
    // The members in their order: the arrivals, and this worker's own copy before the one at its place.
    const auto member = [&](std::size_t index) -> const FloatArray& {
      if (index == place) return *own;
      return arrivals_[index < place ? index : index - 1];
    };
    device_.copy(mean_->data(), member(0).data(), mean_->bytes());
    for (std::size_t index = 1; index <= others; ++index)
      device_.add(mean_->data(), member(index).data(), std::ssize(mean_->span()), 1.0F);
    device_.scale(mean_->data(), std::ssize(mean_->span()), 1.0F / static_cast<float>(others + 1));
  };
}

Slice PeerModel::reply(std::size_t caller) {
  replies_.at(caller) = mean_;
  return slice(*mean_);
}

void PeerModel::average_with(std::size_t caller) {
  if (!real_) return;
  const Snapshot own = mean_;
  mean_ = snapshots_.fresh();
  // The next reply is sent without waiting for any computation, neither this one nor the device's current
  // work.
  const SecondQueue at_once(device_);
  device_.move(mean_->data(), own->data(), calls_[caller].data(), nullptr, std::ssize(mean_->span()),
               {.share = 1.0F, .rate = 1.0F, .kept = 0.0F, .momentum = 0.0F, .nesterov = false});
  device_.scale(mean_->data(), std::ssize(mean_->span()), 0.5F);
  OwnedMark(device_, device_.mark()).await();
}

Kernel PeerModel::take_over() {
  if (!real_) return {};
  return [this] {
    float* const model = replica_.model().data();
    for (const auto& bucket : replica_.description().buckets) {
      device_.copy(model + bucket.offset, mean_->data() + bucket.offset,
                   static_cast<std::size_t>(bucket.parameters) * sizeof(float));
      const std::int64_t first = bucket.offset + bucket.parameters;
      device_.subtract(drift_.data(), mean_->data() + first, begun_.data() + first, bucket.statistics);
      device_.add(model + first, drift_.data(), bucket.statistics, 1.0F);
    }
  };
}

}  // namespace tandem
