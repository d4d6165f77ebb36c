#include "workloads/job/plan/data_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "policies/cache/training/stated_rates.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/data/dataset_memory.hpp"
#include "workloads/data/record_store.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/plan/cache_policy.hpp"

namespace tandem {

void resolve_cache_capacity(Experiment& experiment) {
  Experiment::Data& data = experiment.data;
  if (data.cache_percent == Percent()) return;
  const DatasetSetting setting = ResolvedExperiment(experiment).dataset;
  const auto samples = open_sample_set(setting);
  const bool real_math = experiment.workload.math == Experiment::Workload::Math::real;
  const DatasetInfo info = samples     ? samples->info
                           : real_math ? describe_dataset(setting)
                                       : describe_modelled_dataset(setting);
  const Bytes total =
      samples ? samples->train.manifest->view().total() : info.record_bytes() * info.train_samples;
  const double share = std::exchange(data.cache_percent, Percent()).value / 100.0;
  data.cache_capacity = Bytes(std::llround(static_cast<double>(total.count()) * share));
}

namespace {

/// Errors: KeyError where it changes images, and pixels have another size than 8 bits.
void check_augmentation(const Augmentation& augmentation, const DatasetInfo& info) {
  if (augmentation.is_used() && info.pixel_bits != 8)
    throw KeyError("data.augment",
                   "none, because data set '" + info.name + "' has pixels of " +
                       std::to_string(info.pixel_bits) + " bits",
                   "some");
}

/// Errors: KeyError unless all nodes with workers have equally many, so that the parts of a step have one
/// size.
void check_equal_nodes(const Experiment& experiment) {
  std::size_t first = 0;
  for (const auto& clients : clients_of_nodes(Roster(experiment))) {
    const std::size_t workers = clients.size();
    if (first == 0) first = workers;
    if (workers == 0 || workers == first) continue;
    throw KeyError("placement.cache_nodes",
                   "as many workers for each, because cache policy " + experiment.data.cache +
                       " divides the samples of a step equally among the nodes",
                   std::to_string(first) + " and " + std::to_string(workers));
  }
}

/// `check`: reads the options of the cache policy.
void check_options(const std::function<void()>& check) {
  try {
    check();
  } catch (const OptionError& error) {
    throw KeyError("data.cache_options." + error.option(), error.expected(), error.found());
  }
}

}  // namespace

DataPlan::DataPlan(const Experiment& experiment, const ResolvedExperiment& chosen, int workers,
                   const std::string& data_memory)
    : augmentation_(chosen.augmentation),
      setting_(experiment.data),
      cache_(chosen.cache),
      batch_(experiment.workload.batch),
      workers_(workers),
      seed_(experiment.seed) {
  TANDEM_CHECK(workers > 0, "workers", workers);
  TANDEM_CHECK(setting_.cache_percent == Percent(), "percent of the training samples",
               setting_.cache_percent.value);
  const bool real_math = experiment.workload.math == Experiment::Workload::Math::real;
  const DatasetSetting& setting = chosen.dataset;
  setting_.cold = setting.cold;
  samples_ = open_sample_set(setting);
  if (real_math && !data_memory.empty()) dataset_ = map_dataset(setting, data_memory, samples_.get());
  if (real_math && !dataset_) dataset_ = load_dataset(setting, samples_.get());
  info_ = samples_ ? samples_->info : real_math ? dataset_->info() : describe_modelled_dataset(setting);
  manifest_ = samples_ ? samples_->train.manifest->view()
                       : cache::Manifest{.samples = info_.train_samples, .each = info_.record_bytes()};
  const auto labels = [samples = samples_, dataset = dataset_, setting] {
    if (samples) return samples->train.manifest->labels;
    return dataset ? dataset->train_labels() : modelled_train_labels(setting);
  };
  check_augmentation(augmentation_, info_);
  const int most = std::max(workers, experiment.recovery.most);
  const std::int64_t smallest = chosen.split->replicates ? info_.train_samples : info_.train_samples / most;
  if (smallest == 0)
    throw ConfigError("fewer training samples (" + std::to_string(info_.train_samples) + ") than workers (" +
                      std::to_string(most) + ")");
  const double mean_bytes =
      static_cast<double>(manifest_.total().count()) / static_cast<double>(manifest_.samples);
  stored_batch_ = Bytes(std::llround(mean_bytes * batch_));
  lists_ = std::make_shared<const EpochLists>(chosen.sampler,
                                              EpochLists::Setting{.samples = info_.train_samples,
                                                                  .batch = batch_,
                                                                  .seed = seed_,
                                                                  .workers_compute_losses = real_math,
                                                                  .recorded_losses = setting_.losses});
  const sampling::Setting dealt{.samples = info_.train_samples,
                                .labels = {},
                                .workers = workers,
                                .seed = seed_,
                                .options = chosen.split.options()};
  deals_ = std::make_shared<SampleDeals>(chosen.split.make(), dealt, labels, *lists_);
  plan_caches(labels);
  check_capacity();
  if (from_storage()) plan_run(experiment);
}

/// Policies that know only requests do without labels, which may have to be loaded.
void DataPlan::plan_caches(const std::function<std::vector<std::uint16_t>()>& labels) {
  largest_sample_ = manifest_.sizes.empty() ? manifest_.each : *std::ranges::max_element(manifest_.sizes);
  if (!from_storage() || !cache_->needs.manifest || !manifest_.labels.empty()) return;
  labels_ = std::make_shared<const std::vector<std::uint16_t>>(labels());
  manifest_.labels = *labels_;
}

void DataPlan::plan_run(const Experiment& experiment) {
  if (cache_->deals_steps) check_equal_nodes(experiment);
  if (!cache_->needs.plan) return;
  run_ = std::make_shared<const RunPlan>(
      experiment, workers_, info_.train_samples, lists_->sampler(),
      [deals = deals_.get()]() -> const sampling::Shards& { return deals->shards(); });
  // A missing rate is an error now, not when cache nodes start.
  if (cache_->needs.rates)
    check_options([this] {
      cache::stated_rates(cache_.name(), {.tiers = cache_tiers(), .options = cache_.options()});
    });
}

std::shared_ptr<const SampleSource> DataPlan::open_source(const std::string& record_file,
                                                          const std::function<bool(SampleId)>& has) const {
  if (dataset_ == nullptr) return nullptr;
  if (samples_) return samples_->train.source;
  return std::make_shared<RecordStore>(record_file, *dataset_, has, setting_.cold);
}

void DataPlan::check_capacity() const {
  if (setting_.source != DataSource::storage) return;
  const bool has_sizes = !manifest_.sizes.empty();
  const Bytes least = has_sizes ? *std::ranges::min_element(manifest_.sizes) : manifest_.each;
  for (const auto& [key, capacity] : {std::pair("data.cache_capacity", setting_.cache_capacity),
                                      std::pair("data.disk_capacity", setting_.disk_capacity)})
    if (capacity > Bytes(0) && capacity < least)
      throw KeyError(key,
                     "0 (no cache) or at least " + to_text(least) +
                         (has_sizes ? ", the size of the smallest sample" : ", the size of a sample"),
                     to_text(capacity));
}

std::vector<Bytes> DataPlan::cache_tiers() const {
  std::vector<Bytes> tiers = {setting_.cache_capacity};
  if (has_disk_tier()) tiers.push_back(setting_.disk_capacity);
  return tiers;
}

std::unique_ptr<cache::CachePolicy> DataPlan::make_cache_policy(int node, int nodes, int jobs) const {
  return tandem::make_cache_policy(cache_, setting_, seed_, manifest_,
                                   {.node = node, .nodes = nodes, .jobs = jobs, .plan = run_.get()});
}

void DataPlan::check_cache_options(int nodes) const {
  // A policy that plans the whole run takes long to make, and has no such option.
  if (!from_storage() || nodes == 0 || cache_->needs.plan) return;
  check_options([&] { make_cache_policy(0, nodes); });
}

bool DataPlan::plans_caches() const {
  const cache::Needs& needs = cache_->needs;
  return from_storage() && (needs.ahead || needs.importance || needs.lists);
}

}  // namespace tandem
