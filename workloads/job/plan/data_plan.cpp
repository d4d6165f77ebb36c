#include "workloads/job/plan/data_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "policies/cache/training/stated_rates.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "workloads/data/dataset_memory.hpp"
#include "workloads/data/loss_model.hpp"
#include "workloads/data/record_store.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/job/placement/cache_clients.hpp"
#include "workloads/job/plan/cache_policy.hpp"
#include "workloads/job/plan/run_plan.hpp"

namespace tandem {

DatasetSetting dataset_setting(const Experiment& experiment) {
  const auto& workload = experiment.workload;
  return {.name = workload.dataset,
          .directory = workload.dataset_directory,
          .train_samples = workload.train_samples,
          .test_samples = workload.test_samples,
          .seed = experiment.seed,
          .image_size = workload.image_size,
          .options = Options::resolve(workload.dataset, dataset_catalog().find(workload.dataset).options,
                                      workload.dataset_options),
          .loads_training = experiment.data.source == DataSource::memory,
          .cold = experiment.reads_cold()};
}

namespace {

Augmentation augmentation_of(const Experiment::Data& data, const DatasetInfo& info) {
  const auto augmentation =
      Augmentation::from(Options::resolve("data.augment", augmentation_options(), data.augment));
  if (augmentation.is_used() && info.pixel_bits != 8)
    throw KeyError("data.augment",
                   "none, because data set '" + info.name + "' has pixels of " +
                       std::to_string(info.pixel_bits) + " bits",
                   "some");
  return augmentation;
}

/// The samples of a step are divided into parts of one size, among the nodes with workers.
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

/// The shards, computed when they are first needed.
struct DataPlan::Dealt {
  const sampling::Split* split;
  sampling::Setting setting;
  std::once_flag once;
  sampling::Shards shards;
  std::vector<sampling::Rest> first;  ///< by worker, before its shard; empty: nothing

  // Of later deals, for all workers of this process:
  struct Later {
    int places = 0;
    sampling::Shards shards;
  };
  static constexpr std::size_t kept = 2;
  std::mutex mutex;
  std::vector<Later> later;
  std::vector<std::uint16_t> labels;  ///< where the split needs them
  sampling::RestsOfDeals rests;
  sampling::ListsOfDeals lists;
  std::unique_ptr<const RunPlan> run;  ///< for cache policies that plan with the whole run

  const sampling::Shards& get() {
    std::call_once(once, [this] { shards = split->deal(setting); });
    return shards;
  }
};

DataPlan::DataPlan(const Experiment& experiment, const ResolvedExperiment& chosen, int workers,
                   const std::string& data_memory)
    : dealt_(std::make_shared<Dealt>()),
      setting_(experiment.data),
      batch_(experiment.workload.batch),
      workers_(workers),
      seed_(experiment.seed) {
  TANDEM_CHECK(workers > 0, "workers", workers);
  const bool real_math = experiment.workload.math == Experiment::Workload::Math::real;
  const DatasetSetting setting = dataset_setting(experiment);
  setting_.cold = setting.cold;
  samples_ = open_sample_set(setting);
  if (real_math && !data_memory.empty()) dataset_ = map_dataset(setting, data_memory, samples_.get());
  if (real_math && !dataset_) dataset_ = load_dataset(setting, samples_.get());
  info_ = samples_ ? samples_->info : real_math ? dataset_->info() : describe_modelled_dataset(setting);
  manifest_ = samples_ ? samples_->train.manifest->view()
                       : cache::Manifest{.samples = info_.train_samples, .each = info_.record_bytes()};
  if (chosen.split->needs_labels)
    dealt_->labels = samples_ || real_math ? labels() : modelled_train_labels(setting);
  augmentation_ = augmentation_of(setting_, info_);
  const std::int64_t smallest =
      chosen.split->replicates ? info_.train_samples : info_.train_samples / workers;
  if (smallest == 0)
    throw ConfigError("fewer training samples (" + std::to_string(info_.train_samples) + ") than workers (" +
                      std::to_string(workers) + ")");
  const double mean_bytes =
      static_cast<double>(manifest_.total().count()) / static_cast<double>(manifest_.samples);
  stored_batch_ = Bytes(std::llround(mean_bytes * batch_));
  dealt_->split = &chosen.split.make();
  dealt_->setting = {.samples = info_.train_samples,
                     .labels = dealt_->labels,
                     .workers = workers,
                     .seed = seed_,
                     .options = chosen.split.options()};
  if (chosen.split->needs_labels) dealt_->get();
  cache_ = &chosen.cache.make();
  plan_caches(setting);
  check_capacity();
  plan_lists(chosen.sampler);
  if (!from_storage()) return;
  if (cache_->deals_steps) check_equal_nodes(experiment);
  if (!cache_->needs.plan) return;
  dealt_->run = std::make_unique<const RunPlan>(
      experiment, workers, info_.train_samples, sampler_,
      [dealt = dealt_.get()]() -> const sampling::Shards& { return dealt->get(); });
  // That nobody states a rate is found now, and not when cache nodes start.
  if (cache_->needs.rates)
    check_options([this] {
      cache::stated_rates(setting_.cache, {.tiers = cache_tiers(), .options = cache_options(setting_)});
    });
}

/// Policies that know only requests do without labels, which may have to be loaded.
void DataPlan::plan_caches(const DatasetSetting& setting) {
  largest_sample_ = manifest_.sizes.empty() ? manifest_.each : *std::ranges::max_element(manifest_.sizes);
  if (!from_storage() || !cache_->needs.manifest || !manifest_.labels.empty()) return;
  labels_ = std::make_shared<const std::vector<std::uint16_t>>(
      dataset_ != nullptr ? labels() : modelled_train_labels(setting));
  manifest_.labels = *labels_;
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

/// The lists of the newest epochs, for all workers of this process.
struct DataPlan::Lists {
  static constexpr std::size_t kept = 4;
  std::mutex mutex;
  std::map<std::int64_t, std::shared_ptr<const sampling::EpochList>> by_epoch;
  /// The losses that were asked for last: cache nodes of one process ask for the same ones.
  std::mutex losses_mutex;
  std::optional<std::int64_t> losses_epoch;
  std::vector<float> losses;
};

void DataPlan::plan_lists(const Chosen<sampling::SamplerFactory>& sampler) {
  if (sampler->make == nullptr) return;
  const Options& options = sampler.options();
  sampler_ =
      sampler->make({.samples = info_.train_samples, .batch = batch_, .seed = seed_, .options = options});
  lists_ = std::make_shared<Lists>();
  needs_losses_ = sampler->needs_losses;
  weighs_losses_ = options.values().contains("unbiased") && options.boolean("unbiased");
  if (needs_losses_) loss_lag_ = static_cast<int>(options.integer("lag"));
  if (!setting_.losses.empty())
    recorded_losses_ = std::make_shared<const LossHistory>(setting_.losses, info_.train_samples);
}

/// Where no worker computes them. Pre: models_losses().
std::vector<float> DataPlan::losses_before(std::int64_t epoch) const {
  const std::lock_guard lock(lists_->losses_mutex);
  if (lists_->losses_epoch == epoch) return lists_->losses;
  std::vector<float> losses(static_cast<std::size_t>(info_.train_samples));
  if (recorded_losses_)
    recorded_losses_->before(epoch, losses);
  else
    modelled_losses(seed_, std::max<std::int64_t>(0, epoch - 1), losses);
  lists_->losses_epoch = epoch;
  return lists_->losses = std::move(losses);
}

std::shared_ptr<const sampling::EpochList> DataPlan::epoch_list(std::int64_t epoch,
                                                                std::span<const float> losses,
                                                                const sampling::RestList& rest) const {
  const auto make = [&](std::span<const float> known) {
    const auto list = std::make_shared<sampling::EpochList>();
    sampler_->list(epoch, {.losses = known}, *list);
    return list;
  };
  if (rest.list && epoch == rest.epoch) return rest.list;
  if (needs_losses_ && !models_losses()) return make(losses);
  const std::lock_guard lock(lists_->mutex);
  auto& by_epoch = lists_->by_epoch;
  if (const auto found = by_epoch.find(epoch); found != by_epoch.end()) return found->second;
  const auto list = make(needs_losses_ ? losses_before(epoch - loss_lag_) : std::vector<float>());
  by_epoch[epoch] = list;
  if (by_epoch.size() > Lists::kept) by_epoch.erase(by_epoch.begin());
  return list;
}

std::vector<std::uint16_t> DataPlan::labels() const {
  if (samples_) return samples_->train.manifest->labels;
  TANDEM_CHECK(dataset_ != nullptr, "nobody trains on the samples of modelled mathematics");
  return dataset_->train_labels();
}

const std::vector<SampleId>& DataPlan::shard(int index) const {
  return dealt_->get().at(static_cast<std::size_t>(index));
}

sampling::ShardVisits DataPlan::shard_visits(int worker) const {
  if (dealt_->first.empty()) return {shard(worker), seed_, worker};
  return {shard(worker), seed_, worker, dealt_->first.at(static_cast<std::size_t>(worker))};
}

bool DataPlan::deals_again() const { return has_lists() || !dealt_->split->replicates; }

sampling::ShardVisits DataPlan::shard_visits(const sampling::DealsOfWorker::Part& part) const {
  if (part.before.empty()) return shard_visits(part.place);
  const std::lock_guard lock(dealt_->mutex);
  const sampling::Setting& setting = dealt_->setting;
  auto& later = dealt_->later;
  auto found = std::ranges::find(later, part.places, &Dealt::Later::places);
  if (found == later.end()) {
    sampling::Setting of_places = setting;
    of_places.workers = part.places;
    if (later.size() == Dealt::kept) later.erase(later.begin());
    found = later.insert(later.end(), {part.places, dealt_->split->deal(of_places)});
  }
  const auto place = static_cast<std::size_t>(part.place);
  const auto rests = dealt_->rests.after(*dealt_->split, setting, part.before, part.places);
  return {found->shards.at(place), seed_, part.place, rests->at(place)};
}

sampling::RestList DataPlan::rest_list(const sampling::DealsOfWorker::Part& part) const {
  const std::lock_guard lock(dealt_->mutex);
  return dealt_->lists.after([this](std::int64_t epoch) { return epoch_list(epoch, {}, {}); }, part.before,
                             part.places);
}

void DataPlan::continue_after(std::span<const sampling::Deal> deals) {
  if (deals.empty()) return;
  TANDEM_CHECK(!needs_losses(), "deals", deals.size());
  deals_before_.assign(deals.begin(), deals.end());
  if (has_lists()) {
    first_list_ = sampling::rest_list_after([this](std::int64_t epoch) { return epoch_list(epoch, {}, {}); },
                                            deals, workers_);
    return;
  }
  dealt_->first = sampling::rests_after(*dealt_->split, dealt_->setting, deals, workers_);
}

DataPlan::Left DataPlan::left_of_epoch() const {
  if (first_list_.list) return {first_list_.epoch, std::ssize(first_list_.list->ids)};
  Left left{.epoch = first_list_.epoch};
  for (const sampling::Rest& rest : dealt_->first) {
    left.epoch = rest.epoch;
    left.samples += std::ssize(rest.ids);
  }
  return left;
}

std::vector<Bytes> DataPlan::cache_tiers() const {
  std::vector<Bytes> tiers = {setting_.cache_capacity};
  if (has_disk_tier()) tiers.push_back(setting_.disk_capacity);
  return tiers;
}

std::unique_ptr<cache::CachePolicy> DataPlan::make_cache_policy(int node, int nodes, int jobs) const {
  return tandem::make_cache_policy(setting_, seed_, manifest_,
                                   {.node = node, .nodes = nodes, .jobs = jobs, .plan = dealt_->run.get()});
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
