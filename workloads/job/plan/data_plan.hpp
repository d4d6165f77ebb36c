// The data of a job: its data set, which samples each worker owns, and how batches reach the workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/data/augmentation.hpp"
#include "workloads/data/cache_engine.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/data/sample_set.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/plan/epoch_lists.hpp"
#include "workloads/job/plan/run_plan.hpp"
#include "workloads/job/plan/sample_deals.hpp"

namespace tandem {

/// Replaces data.cache_capacity in percent of the stored training samples by their bytes. Errors: as
/// open_sample_set.
void resolve_cache_capacity(Experiment& experiment);

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
  /// The source from which samples are read one by one: their own place, or a file of records that this
  /// writes to `record_file`. The file is removed with the source, and has the records for which `has` is
  /// true, or all. Null when math is modelled. Errors: WorldError.
  std::shared_ptr<const SampleSource> open_source(const std::string& record_file,
                                                  const std::function<bool(SampleId)>& has = {}) const;
  /// The training samples for cache nodes.
  const cache::Manifest& manifest() const { return manifest_; }
  /// Mean size of a batch as it is stored, and as it travels from storage to a worker.
  Bytes stored_batch() const { return stored_batch_; }
  /// Every rank has the training samples in memory, as records. Otherwise it has at most the test samples.
  bool holds_training() const { return dataset_ != nullptr && dataset_->has_training(); }
  const Augmentation& augmentation() const { return augmentation_; }
  std::uint64_t seed() const { return seed_; }
  /// Samples of one batch.
  int batch() const { return batch_; }
  /// Most samples of one batch, whatever a policy grants.
  int largest_batch() const { return batch_ * workers_; }

  /// A rank needs the ids of samples. Otherwise mathematics is modelled, and only their numbers matter.
  bool knows_samples() const { return dataset_ != nullptr || has_lists() || from_storage(); }
  int workers() const { return workers_; }
  const SampleDeals& deals() const { return *deals_; }
  /// See SampleDeals::continue_after.
  void continue_after(std::span<const sampling::Deal> deals) { deals_->continue_after(deals); }

  /// Workers train on their parts of common lists, one for each epoch; otherwise each on its own shard.
  bool has_lists() const { return lists_->exist(); }
  /// Lists depend on losses of earlier epochs.
  bool needs_losses() const { return lists_->need_losses(); }
  const EpochLists& lists() const { return *lists_; }

  /// Batches come from cache nodes; otherwise every worker has its shard in memory.
  bool from_storage() const { return setting_.source == DataSource::storage; }
  /// Batches that are requested before their step.
  int prefetch() const { return setting_.prefetch; }
  /// Threads of each worker, for images.
  int decode_threads() const { return setting_.decode_threads; }
  /// Workers get images from storage and decode them.
  bool decodes_images() const { return from_storage() && samples_ != nullptr; }
  /// Cache nodes keep samples on their disks too.
  bool has_disk_tier() const { return setting_.disk_capacity > Bytes(0); }
  /// Capacities of a cache node, by tier.
  std::vector<Bytes> cache_tiers() const;
  /// Cache nodes ask each other for samples.
  bool asks_peers() const { return setting_.peers != Peers::none; }
  /// Cache nodes begin no read in the background while one of their workers exchanges gradients.
  bool reads_while_computing() const { return setting_.background == BackgroundReads::while_computing; }
  /// The policy of cache node number `node` of `nodes`, which serve `jobs` jobs.
  std::unique_ptr<cache::CachePolicy> make_cache_policy(int node = 0, int nodes = 1, int jobs = 1) const;
  /// Errors: KeyError for an option that is wrong for this capacity and these samples, by the policy.
  void check_cache_options(int nodes) const;
  const cache::Factory& cache_factory() const { return cache_.make(); }
  /// The policy of cache nodes plans with epochs: it gets the lists, and the losses if lists depend on them.
  /// False: it gets requests alone.
  bool plans_caches() const;
  /// Cache nodes may deliver other samples than the wanted ones, so they say which.
  bool may_replace() const { return from_storage() && cache_->replaces; }
  /// Size of the largest training sample as it is stored.
  Bytes largest_sample() const { return largest_sample_; }

 private:
  void check_capacity() const;
  void plan_caches(const std::function<std::vector<std::uint16_t>()>& labels);
  void plan_run(const Experiment& experiment);

  DatasetInfo info_;
  std::shared_ptr<const Dataset> dataset_;
  std::shared_ptr<const SampleSet> samples_;
  cache::Manifest manifest_;
  std::shared_ptr<const std::vector<std::uint16_t>>
      labels_;  ///< of `manifest_`, unless the samples have them
  Bytes largest_sample_{0};
  Bytes stored_batch_{0};
  Augmentation augmentation_;
  std::shared_ptr<const EpochLists> lists_;
  std::shared_ptr<SampleDeals> deals_;
  std::shared_ptr<const RunPlan> run_;  ///< for cache policies that plan with the whole run
  Experiment::Data setting_;
  Chosen<cache::Factory> cache_;
  int batch_;
  int workers_;
  std::uint64_t seed_;
};

}  // namespace tandem
