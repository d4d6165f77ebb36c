#include "workloads/job/plan/epoch_lists.hpp"

#include <algorithm>
#include <utility>

#include "workloads/data/loss_model.hpp"

namespace tandem {
namespace {

/// Lists that are kept.
constexpr std::size_t newest = 4;

}  // namespace

EpochLists::EpochLists(const Chosen<sampling::SamplerFactory>& sampler, Setting setting)
    : setting_(std::move(setting)) {
  if (sampler->make == nullptr) return;
  sampler_ = sampler->make({.samples = setting_.samples,
                            .batch = setting_.batch,
                            .seed = setting_.seed,
                            .options = sampler.options()});
  needs_losses_ = sampler->needs_losses;
  if (needs_losses_) loss_lag_ = static_cast<int>(sampler.options().integer("lag"));
  if (!setting_.recorded_losses.empty())
    recorded_losses_ = std::make_shared<const LossHistory>(setting_.recorded_losses, setting_.samples);
}

/// Where no worker computes them. Pre: model_losses().
std::vector<float> EpochLists::losses_before(std::int64_t epoch) const {
  const std::lock_guard lock(losses_mutex_);
  if (losses_epoch_ == epoch) return losses_;
  std::vector<float> losses(static_cast<std::size_t>(setting_.samples));
  if (recorded_losses_)
    recorded_losses_->before(epoch, losses);
  else
    modelled_losses(setting_.seed, std::max<std::int64_t>(0, epoch - 1), losses);
  losses_epoch_ = epoch;
  return losses_ = std::move(losses);
}

std::shared_ptr<const sampling::EpochList> EpochLists::of(std::int64_t epoch, std::span<const float> losses,
                                                          const sampling::RestList& rest) const {
  const auto make = [&](std::span<const float> known) {
    const auto list = std::make_shared<sampling::EpochList>();
    sampler_->list(epoch, {.losses = known}, *list);
    return list;
  };
  if (rest.list && epoch == rest.epoch) return rest.list;
  if (needs_losses_ && !model_losses()) return make(losses);
  const std::lock_guard lock(mutex_);
  if (const auto found = by_epoch_.find(epoch); found != by_epoch_.end()) return found->second;
  const auto list = make(needs_losses_ ? losses_before(epoch - loss_lag_) : std::vector<float>());
  by_epoch_[epoch] = list;
  if (by_epoch_.size() > newest) by_epoch_.erase(by_epoch_.begin());
  return list;
}

}  // namespace tandem
