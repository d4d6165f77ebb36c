// The lists of samples on whose parts all workers train, one for each epoch, and the losses behind them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/sampling/deals.hpp"
#include "policies/sampling/sampler.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/loss_history.hpp"

namespace tandem {

/// Shared by all workers of a process.
class EpochLists {
 public:
  struct Setting {
    std::int64_t samples;
    int batch;
    std::uint64_t seed;
    bool workers_compute_losses;
    std::string recorded_losses = {};  ///< the file of another run; empty: none
  };
  /// Errors: ConfigError for the file.
  EpochLists(const Chosen<sampling::SamplerFactory>& sampler, Setting setting);

  /// False: each worker trains on its own shard.
  bool exist() const { return sampler_ != nullptr; }
  const std::shared_ptr<const sampling::Sampler>& sampler() const { return sampler_; }
  /// Why the sampler selects no samples in `epochs` epochs, although it is made to
  /// (Sampler::why_selects_none).
  std::string why_select_none(std::int64_t epochs) const {
    return exist() ? sampler_->why_selects_none(epochs) : "";
  }
  /// They depend on losses of earlier epochs.
  bool need_losses() const { return needs_losses_; }
  /// The losses come from a model or another run: no worker computes them.
  bool model_losses() const { return needs_losses_ && !setting_.workers_compute_losses; }
  /// Epochs by which the losses of a list are older than the newest.
  int loss_lag() const { return loss_lag_; }
  /// The list of an epoch. `losses`: by id, if a worker computes them; otherwise empty. Lists that all
  /// workers have in common are made once. `rest`: replaces the list of its epoch. Pre: exist().
  std::shared_ptr<const sampling::EpochList> of(std::int64_t epoch, std::span<const float> losses,
                                                const sampling::RestList& rest) const;
  /// The losses, by id, by which the list of an epoch is made. Pre: model_losses().
  std::vector<float> modelled_losses_of(std::int64_t epoch) const { return losses_before(epoch - loss_lag_); }

 private:
  std::vector<float> losses_before(std::int64_t epoch) const;

  Setting setting_;
  std::shared_ptr<const sampling::Sampler> sampler_;    ///< null: shards
  std::shared_ptr<const LossHistory> recorded_losses_;  ///< null: not from another run
  bool needs_losses_ = false;
  int loss_lag_ = 0;
  // Of the newest epochs:
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const sampling::EpochList>> by_epoch_;
  // The losses of the last call: cache nodes of one process ask for the same ones.
  mutable std::mutex losses_mutex_;
  mutable std::optional<std::int64_t> losses_epoch_;
  mutable std::vector<float> losses_;
};

}  // namespace tandem
