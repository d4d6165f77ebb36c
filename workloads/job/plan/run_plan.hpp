// The samples of the whole run, for cache policies that plan with them: which samples each cache node is
// asked for in each epoch, if the seed alone determines it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "policies/cache/training/frequency_plan.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// Epochs of the whole run, the last of which may be trained in part. Errors: ConfigError if the experiment
/// says neither rounds nor epochs.
std::int64_t epochs_of_run(const Experiment& experiment, int workers, std::int64_t samples);

class RunPlan final : public cache::SharedPlan {
 public:
  /// `sampler`: null: workers visit shards, of which `shards` returns all. Pre: the experiment has cache
  /// nodes and says after how many rounds or epochs the job ends; the sampler needs no losses.
  RunPlan(const Experiment& experiment, int workers, std::int64_t samples,
          std::shared_ptr<const sampling::Sampler> sampler, std::function<const sampling::Shards&()> shards);

  /// The number of epochs; the last one may be trained in part.
  std::int64_t epochs() const override { return epochs_; }
  void list(int job, std::int64_t epoch, int node, std::vector<SampleId>& ids) const override;
  std::shared_ptr<const cache::FrequencyPlan> by_frequency(const cache::Setting& setting) const override;

 private:
  std::vector<SampleId> of_worker(std::int64_t epoch, std::size_t worker) const;

  std::uint64_t seed_;
  std::int64_t epochs_;
  int workers_;
  std::vector<std::vector<std::size_t>> workers_of_;  ///< by cache node
  std::shared_ptr<const sampling::Sampler> sampler_;
  std::function<const sampling::Shards&()> shards_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<const cache::FrequencyPlan> by_frequency_;
  // The list of the last call, which has the parts of all nodes:
  mutable std::mutex mutex_;
  mutable std::int64_t last_epoch_ = -1;
  mutable sampling::EpochList last_;
};

}  // namespace tandem
