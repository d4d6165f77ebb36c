#include "workloads/roles/peer_model.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tandem {

PeerModel::PeerModel(Replica& replica, std::size_t callers)
    : replica_(replica),
      real_(!replica.model().empty()),
      begun_(replica.model().size()),
      mean_(std::make_shared<std::vector<float>>(begun_.size())),
      calls_(callers, std::vector<float>(begun_.size())),
      replies_(callers) {}

Slice PeerModel::slice(std::vector<float>& values) const {
  return {replica_.description().bytes(), real_ ? reinterpret_cast<std::byte*>(values.data()) : nullptr};
}

Slice PeerModel::begun() { return slice(begun_); }

Slice PeerModel::arrival(std::size_t index) {
  while (arrivals_.size() <= index) arrivals_.emplace_back(begun_.size());
  return slice(arrivals_[index]);
}

Kernel PeerModel::begin() {
  if (!real_) return {};
  return [this] {
    std::ranges::copy(replica_.model(), begun_.begin());
    mean_ = std::make_shared<std::vector<float>>(begun_);
  };
}

Kernel PeerModel::mix(std::size_t others, std::size_t place) {
  if (!real_) return {};
  return [this, others, place] {
    const auto count = static_cast<float>(others + 1);
    auto& mean = *mean_;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      float sum = 0.0F;
      for (std::size_t member = 0; member <= others; ++member) {
        if (member == place) sum += mean[i];
        if (member < others) sum += arrivals_[member][i];
      }
      mean[i] = sum / count;
    }
  };
}

Slice PeerModel::reply(std::size_t caller) {
  replies_.at(caller) = mean_;
  return slice(*mean_);
}

void PeerModel::average_with(std::size_t caller) {
  auto mean = std::make_shared<std::vector<float>>(mean_->size());
  std::ranges::transform(*mean_, calls_[caller], mean->begin(),
                         [](float own, float other) { return (own + other) / 2.0F; });
  mean_ = std::move(mean);
}

Kernel PeerModel::take_over() {
  if (!real_) return {};
  return [this] {
    const auto model = replica_.model();
    for (const auto& bucket : replica_.description().buckets) {
      const auto begin = static_cast<std::size_t>(bucket.offset);
      const auto trained = begin + static_cast<std::size_t>(bucket.parameters);
      const auto end = begin + static_cast<std::size_t>(bucket.elements());
      for (std::size_t i = begin; i < trained; ++i) model[i] = (*mean_)[i];
      for (std::size_t i = trained; i < end; ++i) model[i] += (*mean_)[i] - begun_[i];
    }
  };
}

}  // namespace tandem
