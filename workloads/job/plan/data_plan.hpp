// The data of a job: its data set, which samples each worker owns, and how batches reach the workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/sampling/deals.hpp"
#include "policies/sampling/member_deals.hpp"
#include "policies/sampling/partition.hpp"
#include "policies/sampling/sampler.hpp"
#include "workloads/data/augmentation.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/data/sample_set.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/loss_history.hpp"

namespace tandem {

/// The data set that an experiment names.
DatasetSetting dataset_setting(const Experiment& experiment);

class DataPlan {
 public:
  /// Loads the data set where mathematics is real, or the split needs its labels. `data_memory`: see JobSpec.
  /// Errors: ConfigError, also for fewer samples than workers.
  DataPlan(const Experiment& experiment, const ResolvedExperiment& chosen, int workers,
           const std::string& data_memory);

  const DatasetInfo& info() const { return info_; }
  const Dataset* dataset() const { return dataset_.get(); }  ///< null when math is modelled
  /// The training samples as they are stored, one by one; null: they are stored as records (DatasetInfo).
  const SampleSet* samples() const { return samples_.get(); }
  /// From where they are read one by one: their own place, or a file of records that this writes to
  /// `record_file`, and that is removed with the source; with the records for which `has` is true, or all.
  /// Null when math is modelled. Errors: WorldError.
  std::shared_ptr<const SampleSource> open_source(const std::string& record_file,
                                                  const std::function<bool(SampleId)>& has = {}) const;
  /// The training samples as cache nodes see them.
  const cache::Manifest& manifest() const { return manifest_; }
  /// Mean size of a batch as it is stored, and as it travels from storage to a worker.
  Bytes stored_batch() const { return stored_batch_; }
  /// Every rank has the training samples in memory, as records. Otherwise at most the tests.
  bool holds_training() const { return dataset_ != nullptr && dataset_->has_training(); }
  const Augmentation& augmentation() const { return augmentation_; }
  std::uint64_t seed() const { return seed_; }
  /// Samples of one batch.
  int batch() const { return batch_; }
  /// Samples that one batch may hold at most, whatever a policy grants.
  int largest_batch() const { return batch_ * workers_; }

  /// The training samples of worker `index`. The samples are dealt at the first call: a job with modelled
  /// mathematics that reads nothing from storage never asks for them.
  const std::vector<SampleId>& shard(int index) const;
  /// Visits the shard of a worker, in the order of this job.
  sampling::ShardVisits shard_visits(int worker) const;

  /// The job continues with other workers than those that trained before: `deals`, the oldest first. What
  /// these had left of an epoch is visited first. Pre: called before any worker takes samples;
  /// !needs_losses().
  void continue_after(std::span<const sampling::Deal> deals);
  /// The deals of which this job's is the next one.
  const sampling::Deals& deals_before() const { return deals_before_; }
  /// Somebody asks for samples. Otherwise mathematics is modelled, and only their numbers matter.
  bool knows_samples() const { return dataset_ != nullptr || has_lists() || from_storage(); }
  /// Where workers leave and join, the samples that they have left are dealt anew. Not where each has all.
  bool deals_again() const;
  /// Visits the samples of a place in a later deal, or what is left of the lists there. Workers of a process
  /// share what they have in common.
  sampling::ShardVisits shard_visits(const sampling::DealsOfWorker::Part& part) const;
  sampling::RestList rest_list(const sampling::DealsOfWorker::Part& part) const;
  /// What workers visit first, therefore.
  struct Left {
    std::int64_t epoch = 0;
    std::int64_t samples = 0;
  };
  Left left_of_epoch() const;

  /// Workers train on their parts of common lists, one for each epoch; otherwise each on its own shard.
  bool has_lists() const { return sampler_ != nullptr; }
  /// Why the sampler selects no samples in so many epochs, if it is made to (Sampler::why_selects_none).
  std::string why_selects_none(std::int64_t epochs) const {
    return has_lists() ? sampler_->why_selects_none(epochs) : "";
  }
  /// Lists depend on losses of earlier epochs.
  bool needs_losses() const { return needs_losses_; }
  /// The losses come from a model or another run: no worker computes them.
  bool models_losses() const { return needs_losses_ && dataset_ == nullptr; }
  /// Epochs by which the losses of a list are older than the newest.
  int loss_lag() const { return loss_lag_; }
  /// Losses are weighted, so that selected samples stand for all.
  bool weighs_losses() const { return weighs_losses_; }
  /// The list of an epoch. `losses`: by id, where a worker computes them; else empty. Lists that all workers
  /// of a process have in common are made once. `rest`: takes the place of the list of its epoch. Pre:
  /// has_lists().
  std::shared_ptr<const sampling::EpochList> epoch_list(std::int64_t epoch, std::span<const float> losses,
                                                        const sampling::RestList& rest) const;
  int workers() const { return workers_; }
  /// Where workers begin in the common lists. Pre: has_lists().
  const sampling::RestList& first_list() const { return first_list_; }

  /// Batches come from cache nodes; otherwise every worker has its shard in memory.
  bool from_storage() const { return setting_.source == DataSource::storage; }
  /// Batches that are requested before their step.
  int prefetch() const { return setting_.prefetch; }
  /// Of each worker, for images.
  int decode_threads() const { return setting_.decode_threads; }
  /// Workers get images from storage and decode them.
  bool decodes_images() const { return from_storage() && samples_ != nullptr; }
  /// Cache nodes keep samples on their disks too.
  bool has_disk_tier() const { return setting_.disk_capacity > Bytes(0); }
  /// Of a cache node, by tier.
  std::vector<Bytes> cache_tiers() const;
  /// Cache nodes ask each other for samples.
  bool asks_peers() const { return setting_.peers != Peers::none; }
  /// Cache nodes begin no read in the background while one of their workers exchanges gradients.
  bool reads_while_computing() const { return setting_.background == BackgroundReads::while_computing; }
  /// The policy of cache node number `node` of `nodes`, which serve so many jobs.
  std::unique_ptr<cache::CachePolicy> make_cache_policy(int node = 0, int nodes = 1, int jobs = 1) const;
  /// Errors: KeyError of an option that only the policy can judge, which knows capacity and samples.
  void check_cache_options(int nodes) const;
  const cache::Factory& cache_factory() const { return *cache_; }
  /// The policy of cache nodes plans with epochs: it knows the lists, and where these depend on losses, the
  /// losses. False: it has requests alone.
  bool plans_caches() const;
  /// Cache nodes may deliver other samples than the wanted ones, so they say which.
  bool may_replace() const { return from_storage() && cache_->replaces; }
  /// Size of the largest training sample as it is stored.
  Bytes largest_sample() const { return largest_sample_; }
  /// The losses, by id, that the list of an epoch knows where no worker computes them. Pre: models_losses().
  std::vector<float> modelled_losses_of(std::int64_t epoch) const { return losses_before(epoch - loss_lag_); }

 private:
  struct Dealt;
  struct Lists;
  void plan_lists(const Chosen<sampling::SamplerFactory>& sampler);
  void check_capacity() const;
  std::vector<float> losses_before(std::int64_t epoch) const;
  std::vector<std::uint16_t> labels() const;
  void plan_caches(const DatasetSetting& setting);

  DatasetInfo info_;
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const SampleSet> samples_;
  cache::Manifest manifest_;
  std::shared_ptr<const std::vector<std::uint16_t>>
      labels_;  ///< of `manifest_`, unless the samples have them
  const cache::Factory* cache_ = nullptr;
  Bytes largest_sample_{0};
  Bytes stored_batch_{0};
  Augmentation augmentation_;
  std::shared_ptr<Dealt> dealt_;
  std::shared_ptr<const sampling::Sampler> sampler_;  ///< null: shards
  std::shared_ptr<Lists> lists_;
  sampling::RestList first_list_;
  sampling::Deals deals_before_;
  std::shared_ptr<const LossHistory> recorded_losses_;  ///< null: not from another run
  bool needs_losses_ = false;
  bool weighs_losses_ = false;
  int loss_lag_ = 0;
  Experiment::Data setting_;
  int batch_;
  int workers_;
  std::uint64_t seed_;
};

}  // namespace tandem
